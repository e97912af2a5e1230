import type { KillOptions } from "../channel.js";
import { callRecords, killCall } from "./calls.js";
import { replaceJson } from "./durable-file.js";
import type { Host } from "./host.js";
import { sessionPaths } from "./layout.js";
import { readSessionMeta } from "./meta.js";

/** Ends what runs in a session, on whatever worker of this host, and lets nothing start in it any more. */
export async function haltSession(host: Host, directory: string, how: KillOptions): Promise<void> {
  const meta = await readSessionMeta(directory);
  if (meta === undefined) return;
  // The state first: a call that is claimed after this sees it and doesn't start; one before it is found below.
  await replaceJson(sessionPaths(directory).meta, { ...meta, state: "stopped" });
  const calls = await callRecords(directory);
  await Promise.all(calls.map((record) => killCall({ record, runner: host.runner, ...how })));
  host.pool.drop(sessionPaths(directory).root);
}
