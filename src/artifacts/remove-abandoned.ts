import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";

/** No put takes so long: a command ends, and with it its output, long before. */
const abandonedAfterMs = 7 * 24 * 3_600_000;

/** Removes what puts that died have left. Never throws: what can't be removed now can be the next time. */
export async function removeAbandoned(directory: string): Promise<void> {
  try {
    for (const name of await readdir(directory)) {
      const path = join(directory, name);
      const { mtimeMs } = await stat(path);
      if (Date.now() - mtimeMs > abandonedAfterMs) await rm(path, { force: true });
    }
  } catch {
    // Not there yet, or another process was faster; the put itself tells what is really wrong.
  }
}
