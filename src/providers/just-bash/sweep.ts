import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { SandboxResource, SweepQuery, SweepReport } from "../provider.js";
import type { OperationContext } from "../provider.js";
import { hasCode } from "../errors.js";
import { isErrno, readJson } from "./durable-file.js";
import type { Host } from "./host.js";
import { anyMetaSchema } from "./meta.js";
import { removeDirectory } from "./remove.js";
import { discard } from "./staging.js";

type Kept = SweepReport["kept"][number];

/** Looks at everything this provider has on disk and removes what the query names, of this owner only. */
export async function sweep(host: Host, query: SweepQuery, context: OperationContext): Promise<SweepReport> {
  const removed: SandboxResource[] = [];
  const kept: Kept[] = [];
  const failed: Kept[] = [];
  let lookedAt = 0;
  for (const item of await items(host)) {
    context.signal.throwIfAborted();
    lookedAt++;
    const seen = await look(host, item);
    if (seen === undefined) continue;
    const { resource, keep } = seen;
    if (keep !== undefined) kept.push({ ...resource, reason: keep });
    else if (!query.isStale(resource)) kept.push({ ...resource, reason: "in use" });
    else if (query.dryRun) kept.push({ ...resource, reason: "dry run" });
    else {
      context.onProgress(`removing ${resource.kind} ${resource.id}`);
      try {
        await (item.kind === "session"
          ? removeDirectory(host, item.path, context.signal)
          : discard(host, item.path));
        removed.push(resource);
      } catch (error) {
        // One that can't be removed must not keep the others.
        failed.push({ ...resource, reason: String(error) });
      }
    }
  }
  return { lookedAt, removed, kept, failed };
}

interface Item {
  readonly kind: "session" | "removal" | "template" | "staging" | "trash";
  readonly id: string;
  readonly path: string;
  readonly meta: string;
}

async function items(host: Host): Promise<Item[]> {
  const { sessions, removals, templates, staging, trash } = host.layout;
  const found: Item[] = [];
  const places = { session: sessions, removal: removals, template: templates, staging, trash };
  for (const [kind, directory] of Object.entries(places) as [Item["kind"], string][]) {
    for (const id of await readdir(directory)) {
      const path = join(directory, id);
      found.push({ kind, id, path, meta: kind === "removal" ? path : join(path, "meta.json") });
    }
  }
  return found;
}

/** Read at the moment of the decision. Undefined: it went meanwhile. `keep`: why it is not ours to judge. */
async function look(
  host: Host,
  item: Item,
): Promise<{ resource: SandboxResource; keep?: string } | undefined> {
  const bare = { kind: item.kind, id: item.id };
  let meta;
  try {
    meta = await readJson(item.meta, anyMetaSchema, "record");
  } catch (error) {
    if (hasCode(error, "internal")) return { resource: bare, keep: "its record can't be read" };
    throw error;
  }
  if (meta === undefined) {
    // In the trash the record may be deleted already: that it is there says that it may go.
    if (item.kind === "trash") return { resource: bare };
    return (await exists(item.path)) ? { resource: bare, keep: "it has no record" } : undefined;
  }
  const known = {
    ...bare,
    createdAtMs: meta.createdAtMs,
    ...(meta.role === "session" || meta.role === "removal" ? { session: meta.session } : {}),
    ...(meta.role === "session" ? { generation: meta.generation.number } : {}),
    ...(meta.role === "removal" ? { generation: meta.upToGeneration } : {}),
  };
  if (meta.owner !== host.owner) return { resource: known, keep: `it belongs to ${meta.owner}` };
  return { resource: known };
}

async function exists(path: string): Promise<boolean> {
  try {
    await readdir(path);
    return true;
  } catch (error) {
    if (isErrno(error, "ENOENT")) return false;
    if (isErrno(error, "ENOTDIR")) return true;
    throw error;
  }
}
