import { setTimeout as sleep } from "node:timers/promises";
import { ProviderError } from "../errors.js";
import { cliFailure } from "./cli-failure.js";
import type { DockerDeps } from "./deps.js";
import { engineTimeouts } from "./engine-timeouts.js";
import { inspectContainer } from "./inspect-container.js";
import { nameArgument } from "./arguments.js";

const pollMs = 100;

/**
 * Removes a container with its anonymous volumes and returns when the engine doesn't have it any more. Somebody
 * else removing it at the same time, or having removed it, is success. Without `signal` it can't be interrupted:
 * that is for undoing.
 */
export async function removeContainer(deps: DockerDeps, id: string, signal?: AbortSignal): Promise<void> {
  const args = ["rm", "-f", "-v", nameArgument(id, "container")];
  const result = await deps.cli.run({
    args,
    timeoutMs: engineTimeouts.removeMs,
    ...(signal === undefined ? {} : { signal }),
  });
  const isGoing = /no such container|removal of container .* is already in progress/i.test(result.stderr);
  if (result.exitCode !== 0 && !isGoing) throw cliFailure(args, result);

  const deadline = performance.now() + engineTimeouts.removeMs;
  while ((await inspectContainer(deps, id, signal)) !== undefined) {
    if (performance.now() > deadline) {
      throw new ProviderError(
        "unavailable",
        `container ${id} is still there ${engineTimeouts.removeMs} ms after its removal`,
        { hint: "`docker inspect` shows its state; a dead container needs a restart of the engine." },
      );
    }
    await sleep(pollMs);
  }
}
