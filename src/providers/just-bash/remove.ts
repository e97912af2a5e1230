import { join } from "node:path";
import type { OperationContext, RemoveTarget } from "../provider.js";
import { isErrno, readJson, replaceJson } from "./durable-file.js";
import type { Host } from "./host.js";
import { haltSession } from "./halt.js";
import { removalName, sessionName } from "./layout.js";
import { removalMetaSchema } from "./meta.js";
import { discard } from "./staging.js";

/** Removes every generation up to the given one, also one whose start lands later. */
export async function remove(host: Host, target: RemoveTarget, { signal }: OperationContext): Promise<void> {
  await markRemoved(host, target);
  for (let generation = 1; generation <= target.upToGeneration; generation++) {
    const name = sessionName(host.owner, target.session, generation);
    await removeDirectory(host, join(host.layout.sessions, name), signal);
  }
}

/** Without `signal` it can't be interrupted: that is for undoing. */
export async function removeDirectory(host: Host, directory: string, signal?: AbortSignal): Promise<void> {
  try {
    await haltSession(host, directory, {
      cause: "delete",
      graceMs: 0,
      ...(signal === undefined ? {} : { signal }),
    });
  } catch (error) {
    // Somebody else removes it at the same time, and was faster.
    if (!isErrno(error, "ENOENT")) throw error;
  }
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
