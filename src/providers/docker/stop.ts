import type { Handle } from "../../contract/sandbox.js";
import type { OperationContext } from "../provider.js";
import { cliFailure } from "./cli-failure.js";
import { openChannel } from "./connect.js";
import type { DockerDeps } from "./deps.js";
import { engineTimeouts } from "./engine-timeouts.js";
import { openHandle } from "./documents.js";
import { inspectContainer } from "./inspect-container.js";

/** Between TERM to the guest and KILL of the container; its calls have ended by then, so it only writes and syncs. */
const guestExitSeconds = 10;
/** A guest that can't be reached must not hold up a stop. */
const connectTimeoutMs = 5_000;

/** Ends the calls through the guest, so that their records say so, then stops the container. Files stay. */
export async function stop(
  deps: DockerDeps,
  handle: Handle,
  { graceMs }: { graceMs: number },
  context: OperationContext,
): Promise<void> {
  const data = await openHandle(deps, handle);
  const container = await inspectContainer(deps, handle.sandboxId, context.signal);
  // What is gone runs nothing; that its files are gone too is said by whoever needs them.
  if (container === undefined) return;
  if (container.status === "paused") {
    // A frozen process ends on no signal.
    await deps.cli.run({ args: ["unpause", container.id], timeoutMs: engineTimeouts.startMs });
  } else if (container.status !== "running") {
    return;
  }
  try {
    const channel = await openChannel(deps, { handle, data, helloTimeoutMs: connectTimeoutMs }, context);
    try {
      await channel.stopCalls({ graceMs });
    } finally {
      await channel.close();
    }
  } catch (error) {
    // The engine's own stop ends the guest, and the guest its calls; only the longer grace is lost.
    context.onProgress(
      `stopping without the guest: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
  const args = ["stop", "--time", String(guestExitSeconds), container.id];
  const result = await deps.cli.run({ args, timeoutMs: engineTimeouts.startMs + guestExitSeconds * 1_000 });
  if (result.exitCode !== 0 && !/no such container/i.test(result.stderr)) throw cliFailure(args, result);
}
