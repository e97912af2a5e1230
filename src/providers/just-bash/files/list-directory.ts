import { lstat, opendir } from "node:fs/promises";
import { join } from "node:path";
import type { DirectoryEntry } from "../../channel.js";
import { ProviderError } from "../../errors.js";
import { isErrno } from "../durable-file.js";
import type { Place } from "./confined-path.js";
import { entryType } from "./read-file.js";

/** Names as the bytes they are: they need not be UTF-8. */
export async function listPlace(
  place: Place,
  maxEntries: number,
): Promise<{ entries: DirectoryEntry[]; truncated: boolean }> {
  const shown = JSON.stringify(place.path);
  if (place.stats === undefined) throw new ProviderError("not-found", `${shown} does not exist`);
  if (!place.stats.isDirectory()) {
    throw new ProviderError("not-a-file", `${shown} is not a directory`, { hint: "Name a directory." });
  }
  const directory = join(place.parent, place.name);
  const entries: DirectoryEntry[] = [];
  for await (const entry of await opendir(directory, { encoding: "buffer" as BufferEncoding })) {
    if (entries.length >= maxEntries) return { entries, truncated: true };
    const name = Buffer.from(entry.name);
    try {
      const stats = await lstat(Buffer.concat([Buffer.from(`${directory}/`), name]));
      entries.push({ name, type: entryType(stats), sizeBytes: stats.size });
    } catch (error) {
      // Gone since it was listed: it is not there any more.
      if (!isErrno(error, "ENOENT")) throw error;
    }
  }
  return { entries, truncated: false };
}
