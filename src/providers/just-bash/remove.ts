import { join } from "node:path";
import type { RemoveTarget } from "../provider.js";
import { callRecords, killCall } from "./calls.js";
import { readJson, replaceJson } from "./durable-file.js";
import type { Host } from "./host.js";
import { removalName, sessionName, sessionPaths } from "./layout.js";
import { readSessionMeta, removalMetaSchema } from "./meta.js";
import { discard } from "./staging.js";

/** Removes every generation up to the given one, also one whose start lands later. */
export async function remove(host: Host, target: RemoveTarget): Promise<void> {
  await markRemoved(host, target);
  for (let generation = 1; generation <= target.upToGeneration; generation++) {
    const name = sessionName(host.owner, target.session, generation);
    await removeDirectory(host, join(host.layout.sessions, name));
  }
}

export async function removeDirectory(host: Host, directory: string): Promise<void> {
  const meta = await readSessionMeta(directory);
  if (meta !== undefined) {
    // No call may start from here on; those that run would write into a directory that is being deleted.
    await replaceJson(sessionPaths(directory).meta, { ...meta, state: "stopped" });
    const calls = await callRecords(directory);
    await Promise.all(
      calls.map((record) => killCall({ record, runner: host.runner, cause: "delete", graceMs: 0 })),
    );
  }
  host.pool.drop(sessionPaths(directory).root);
  await discard(host, directory);
}

/** Before anything is removed: a start that has not made its directory yet finds the mark when it has. */
async function markRemoved(host: Host, target: RemoveTarget): Promise<void> {
  const path = join(host.layout.removals, `${removalName(host.owner, target.session)}.json`);
  const earlier = await readJson(path, removalMetaSchema, "mark of a removal");
  if (earlier !== undefined && earlier.upToGeneration >= target.upToGeneration) return;
  await replaceJson(path, {
    version: 1,
    role: "removal",
    owner: host.owner,
    createdAtMs: Date.now(),
    session: target.session,
    upToGeneration: target.upToGeneration,
  });
}
