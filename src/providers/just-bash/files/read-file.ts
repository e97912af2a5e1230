import { constants, type Stats } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import type { FileStat } from "../../channel.js";
import type { Place } from "./confined-path.js";
import { notAFile } from "./file-failure.js";

/** O_NONBLOCK: opening a FIFO without a writer would wait for ever. */
const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

export async function readPlace(
  place: Place,
  range: { offset: number; lengthBytes: number },
): Promise<{ bytes: Uint8Array; stat: FileStat }> {
  if (place.stats?.isFile() === false) throw notAFile(place.path);
  const file = await open(join(place.parent, place.name), flags);
  try {
    const stats = await file.stat();
    if (!stats.isFile()) throw notAFile(place.path);
    const length = Math.max(0, Math.min(range.lengthBytes, stats.size - range.offset));
    const bytes = Buffer.alloc(length);
    let filled = 0;
    while (filled < length) {
      const { bytesRead } = await file.read(bytes, filled, length - filled, range.offset + filled);
      // It was shortened meanwhile: what there is, is the answer.
      if (bytesRead === 0) break;
      filled += bytesRead;
    }
    return { bytes: bytes.subarray(0, filled), stat: fileStat(stats) };
  } finally {
    await file.close();
  }
}

export function fileStat(stats: Stats): FileStat {
  return {
    type: entryType(stats),
    sizeBytes: stats.size,
    mode: stats.mode & 0o7777,
    modifiedAtMs: Math.round(stats.mtimeMs),
  };
}

export function entryType(entry: Pick<Stats, "isFile" | "isDirectory" | "isSymbolicLink">): FileStat["type"] {
  if (entry.isSymbolicLink()) return "link";
  if (entry.isDirectory()) return "dir";
  return entry.isFile() ? "file" : "other";
}
