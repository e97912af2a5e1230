import { randomUUID } from "node:crypto";
import type { Handle } from "../../contract/sandbox.js";
import { replaceJson } from "./durable-file.js";
import type { Host } from "./host.js";
import { sessionPaths } from "./layout.js";
import { handleOf, openSession } from "./meta.js";

/** Makes the same session usable again. Never makes another: `session-lost` when its directory is gone. */
export async function resume(host: Host, handle: Handle): Promise<Handle> {
  const { directory, meta } = await openSession(host, handle);
  if (meta.state === "running") return handleOf(host, handle.sandboxId, meta);
  const running = { ...meta, state: "running" as const, epoch: randomUUID() };
  await replaceJson(sessionPaths(directory).meta, running);
  return handleOf(host, handle.sandboxId, running);
}
