import { ProviderError } from "../errors.js";
import type { ResourceLabels } from "../labels.js";
import type { OperationContext } from "../provider.js";
import type { DockerDeps } from "./deps.js";
import { engineTimeouts } from "./engine-timeouts.js";
import { inspectContainer, type Container } from "./inspect-container.js";
import { removeContainer } from "./remove-container.js";

/**
 * Decides about a container that has the name we want. Our own of this very generation is adopted, started if
 * it isn't (another starter may be between its create and its start: starting twice is harmless); if it can't be
 * started it is a corpse and removed. Undefined: the name is free now. A foreign one is a conflict.
 */
export async function adoptContainer(
  deps: DockerDeps,
  { name, labels }: { name: string; labels: ResourceLabels },
  context: OperationContext,
): Promise<string | undefined> {
  const found = await inspectContainer(deps, name, context.signal);
  if (found === undefined) return undefined;
  if (!isOwn(found, labels)) {
    throw new ProviderError(
      "conflict",
      `the name ${name} belongs to container ${found.id.slice(0, 12)}, which is not this session's`,
      { hint: "Look at it with `docker inspect`; remove or rename it if nobody needs it." },
    );
  }
  if (found.status === "running" || found.status === "paused") return found.id;
  if (found.status === "removing" || found.status === "dead") {
    await removeContainer(deps, found.id, context.signal);
    return undefined;
  }
  const started = await deps.cli.run({ args: ["start", found.id], timeoutMs: engineTimeouts.startMs });
  if (started.exitCode === 0) return found.id;
  await removeContainer(deps, found.id, context.signal);
  return undefined;
}

/**
 * Removes what a failed create left: a container that was made and never started. One that runs is somebody's,
 * even under our name: an earlier attempt of this start may have succeeded.
 */
export async function removeCorpse(
  deps: DockerDeps,
  { name, labels }: { name: string; labels: ResourceLabels },
): Promise<void> {
  const found = await inspectContainer(deps, name, undefined);
  if (found?.status === "created" && isOwn(found, labels)) await removeContainer(deps, found.id);
}

function isOwn({ labels: theirs }: Container, labels: ResourceLabels): boolean {
  return (
    theirs?.role === "session" &&
    theirs.owner === labels.owner &&
    theirs.session?.sessionId === labels.session?.sessionId &&
    theirs.session?.runId === labels.session?.runId &&
    theirs.generation?.key === labels.generation?.key
  );
}
