import { randomUUID } from "node:crypto";
import { constants } from "node:fs";
import { open, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import type { WriteOptions } from "../../channel.js";
import type { Place } from "./confined-path.js";
import { notAFile } from "./file-failure.js";
import type { WriteRecords } from "./write-records.js";

const defaultMode = 0o644;
const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

/**
 * Writes beside the file and renames over it: a reader, a full disk or a death in between finds the old content
 * or the new. Mode is kept; a file reached through a link is replaced where it is. Of a hard-linked file only
 * this name changes.
 */
export async function writePlace(
  place: Place,
  content: AsyncIterable<Uint8Array>,
  options: WriteOptions & { records: WriteRecords },
): Promise<{ created: boolean; sizeBytes: number }> {
  if (place.name === "." || place.stats?.isFile() === false) throw notAFile(place.path);
  const temporaryName = `.holdfast-${randomUUID()}.tmp`;
  const temporary = join(place.parent, temporaryName);
  let intended = false;
  try {
    const mode = options.mode ?? (place.stats === undefined ? defaultMode : place.stats.mode & 0o7777);
    const sizeBytes = await fill(temporary, content, mode);
    const written = { created: place.stats === undefined, sizeBytes };
    const { record } = options;
    if (record !== undefined) {
      // From here on the temporary file tells whether the rename happened: it is there, or it is not.
      await options.records.intend({ ...record, ...written, path: place.path, temporaryName });
      intended = true;
    }
    await rename(temporary, join(place.parent, place.name));
    if (record !== undefined) await options.records.complete(record.callId);
    return written;
  } catch (error) {
    // With an intent, only its record knows whether the rename came through.
    if (intended && options.record !== undefined)
      await options.records.forget(options.record.callId, temporary);
    else await rm(temporary, { force: true });
    throw error;
  }
}

async function fill(path: string, content: AsyncIterable<Uint8Array>, mode: number): Promise<number> {
  const file = await open(path, flags, 0o600);
  try {
    let sizeBytes = 0;
    for await (const chunk of content) {
      await file.writeFile(chunk);
      sizeBytes += chunk.length;
    }
    await file.chmod(mode);
    return sizeBytes;
  } finally {
    await file.close();
  }
}
