import type { Handle } from "../../contract/sandbox.js";
import { hasCode } from "../errors.js";
import type { OperationContext } from "../provider.js";
import { isErrno } from "./durable-file.js";
import { haltSession } from "./halt.js";
import type { Host } from "./host.js";
import { openSession } from "./meta.js";

/** Ends what runs, keeps the files. A session that is gone is stopped. */
export async function stop(
  host: Host,
  handle: Handle,
  { graceMs }: { graceMs: number },
  { signal }: OperationContext,
): Promise<void> {
  try {
    const { directory } = await openSession(host, handle);
    await haltSession(host, directory, { cause: "stop", graceMs, signal });
  } catch (error) {
    if (hasCode(error, "session-lost") || isErrno(error, "ENOENT")) return;
    throw error;
  }
}
