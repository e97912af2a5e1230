import type { Handle } from "../../contract/sandbox.js";
import { hasCode } from "../errors.js";
import { callRecords, killCall } from "./calls.js";
import { replaceJson } from "./durable-file.js";
import type { Host } from "./host.js";
import { sessionPaths } from "./layout.js";
import { openSession } from "./meta.js";

/** Ends what runs, keeps the files. A session that is gone is stopped. */
export async function stop(host: Host, handle: Handle, options: { graceMs: number }): Promise<void> {
  let directory: string;
  try {
    const opened = await openSession(host, handle);
    directory = opened.directory;
    // The state first: a call that is claimed after this sees it and doesn't start; one before it is found below.
    await replaceJson(sessionPaths(directory).meta, { ...opened.meta, state: "stopped" });
  } catch (error) {
    if (hasCode(error, "session-lost")) return;
    throw error;
  }
  const calls = await callRecords(directory);
  await Promise.all(
    calls.map((record) => killCall({ record, runner: host.runner, cause: "stop", graceMs: options.graceMs })),
  );
  host.pool.drop(sessionPaths(directory).root);
}
