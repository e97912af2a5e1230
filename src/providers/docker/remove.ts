import { encodeLabelValue } from "../labels.js";
import type { OperationContext, RemoveTarget } from "../provider.js";
import type { DockerDeps } from "./deps.js";
import { engineTimeouts } from "./engine-timeouts.js";
import { inspectContainers } from "./inspect-container.js";
import { removeContainer } from "./remove-container.js";
import { cancelled } from "./cancelled.js";

/**
 * Removes every container of the session up to a generation, found by label: a handle may never have reached the
 * workflow. Creates of this process that are still under way are waited for and removed too.
 */
export async function remove(
  deps: DockerDeps,
  target: RemoveTarget,
  context: OperationContext,
): Promise<void> {
  const underWay = deps.creates.fence(target.session, target.upToGeneration);
  await removeListed(deps, target, context);
  if (underWay.length === 0) return;
  context.onProgress("waiting for a create that is under way");
  await untilAborted(Promise.all(underWay), context.signal);
  await removeListed(deps, target, context);
}

async function removeListed(
  deps: DockerDeps,
  { session, upToGeneration }: RemoveTarget,
  context: OperationContext,
): Promise<void> {
  const ids = await listContainers(
    deps,
    { "session-id": session.sessionId, "run-id": session.runId },
    context,
  );
  const containers = await inspectContainers(deps, ids, context.signal);
  const own = containers.filter(
    ({ labels }) =>
      labels?.role === "session" &&
      labels.owner === deps.owner &&
      labels.session?.sessionId === session.sessionId &&
      labels.session.runId === session.runId &&
      (labels.generation?.number ?? Infinity) <= upToGeneration,
  );
  await Promise.all(own.map(({ id }) => removeContainer(deps, id, context.signal)));
}

/** Ids of this owner's containers in any state, also created and dead ones, with these labels. */
export async function listContainers(
  deps: DockerDeps,
  labels: Readonly<Record<string, string>>,
  context: Pick<OperationContext, "signal">,
): Promise<string[]> {
  const filters = Object.entries({ owner: deps.owner, ...labels }).flatMap(([name, value]) => [
    "--filter",
    `label=dev.holdfast.${name}=${encodeLabelValue(value)}`,
  ]);
  const stdout = await deps.cli.require({
    args: ["ps", "--all", "--no-trunc", "--quiet", ...filters],
    timeoutMs: engineTimeouts.readMs,
    signal: context.signal,
  });
  return stdout.split("\n").filter((line) => line !== "");
}

async function untilAborted(work: Promise<unknown>, signal: AbortSignal): Promise<void> {
  if (signal.aborted) throw cancelled("waiting for a create", signal);
  let onAbort: (() => void) | undefined;
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => {
      reject(cancelled("waiting for a create", signal));
    };
    signal.addEventListener("abort", onAbort, { once: true });
  });
  try {
    await Promise.race([work, aborted]);
  } finally {
    if (onAbort !== undefined) signal.removeEventListener("abort", onAbort);
  }
}
