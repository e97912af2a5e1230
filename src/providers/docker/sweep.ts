import { ProviderError } from "../errors.js";
import type { OperationContext, SandboxResource, SweepQuery, SweepReport } from "../provider.js";
import type { DockerDeps } from "./deps.js";
import { inspectContainer, type Container } from "./inspect-container.js";
import { listContainers } from "./remove.js";
import { removeContainer } from "./remove-container.js";

/**
 * Lists this owner's containers (sessions and leftovers of builds), reads each one again, and removes by id what
 * the query names. What can't be judged is kept, with the reason; one that fails doesn't stop the others.
 */
export async function sweep(
  deps: DockerDeps,
  query: SweepQuery,
  context: OperationContext,
): Promise<SweepReport> {
  const ids = await listContainers(deps, {}, context);
  const removed: SandboxResource[] = [];
  const kept: (SandboxResource & { reason: string })[] = [];
  const failed: (SandboxResource & { reason: string })[] = [];
  for (const id of ids) {
    let resource: SandboxResource = { kind: "container", id };
    try {
      const container = await inspectContainer(deps, id, context.signal);
      // Gone since it was listed: somebody else removed it, and nothing is left to report.
      if (container === undefined) continue;
      resource = describe(container);
      const reason = reasonToKeep(deps, container) ?? (query.isStale(resource) ? undefined : "not stale");
      if (reason !== undefined || query.dryRun) {
        kept.push({ ...resource, reason: reason ?? "stale, but this is a dry run" });
        continue;
      }
      await removeContainer(deps, id, context.signal);
      removed.push(resource);
      context.onProgress(`removed ${resource.kind} ${id.slice(0, 12)}`);
    } catch (error) {
      if (context.signal.aborted) throw error;
      failed.push({ ...resource, reason: error instanceof ProviderError ? error.message : String(error) });
    }
  }
  return { lookedAt: ids.length, removed, kept, failed };
}

function describe({ id, labels, createdAtMs }: Container): SandboxResource {
  return {
    kind: labels?.role ?? "container",
    id,
    ...(labels?.session === undefined ? {} : { session: labels.session }),
    ...(labels?.generation === undefined ? {} : { generation: labels.generation.number }),
    ...(createdAtMs === undefined ? {} : { createdAtMs }),
  };
}

function reasonToKeep(deps: DockerDeps, { labels, createdAtMs }: Container): string | undefined {
  if (labels === undefined) return "its labels are incomplete";
  if (labels.hostId !== deps.hostId) return `it belongs to host ${labels.hostId}`;
  if (createdAtMs === undefined) return "its creation time is unknown";
  return undefined;
}
