import type { Handle } from "../../contract/sandbox.js";
import { ProviderError } from "../errors.js";
import type { OperationContext } from "../provider.js";
import { cliFailure } from "./cli-failure.js";
import type { DockerDeps } from "./deps.js";
import { engineTimeouts } from "./engine-timeouts.js";
import { openHandle } from "./documents.js";
import { inspectContainer } from "./inspect-container.js";

/** Starts the handle's own container again. Looks at it first: what is gone is said before any call meets it. */
export async function resume(deps: DockerDeps, handle: Handle, context: OperationContext): Promise<Handle> {
  await openHandle(deps, handle);
  const container = await inspectContainer(deps, handle.sandboxId, context.signal);
  if (container === undefined || container.status === "removing" || container.status === "dead") {
    throw sessionLost(handle);
  }
  const { labels } = container;
  const isSame = labels?.owner === deps.owner && labels.generation?.key === handle.generation.key;
  if (!isSame) {
    throw new ProviderError(
      "conflict",
      `container ${handle.sandboxId.slice(0, 12)} is not of generation ${handle.generation.number} of this session`,
      { hint: "The handle and the sandbox don't belong together; recreate the session." },
    );
  }
  if (container.status === "running") return handle;
  const args = container.status === "paused" ? ["unpause", container.id] : ["start", container.id];
  // Without the signal: a start that was sent happens anyway, and it is idempotent.
  const result = await deps.cli.run({ args, timeoutMs: engineTimeouts.startMs });
  if (result.exitCode === 0 || /is not paused/i.test(result.stderr)) return handle;
  if (/no such container|marked for removal/i.test(result.stderr)) throw sessionLost(handle);
  throw cliFailure(args, result);
}

/** The sandbox of a handle is gone for good. */
export function sessionLost(handle: Handle): ProviderError {
  return new ProviderError(
    "session-lost",
    `the sandbox ${handle.sandboxId.slice(0, 12)} of session ${handle.session.sessionId} is gone`,
    { hint: "Its files are lost. Start the session again, or let onLost recreate it." },
  );
}
