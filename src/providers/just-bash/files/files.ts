import { randomUUID } from "node:crypto";
import { rename, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Files } from "../../channel.js";
import { ProviderError } from "../../errors.js";
import { atPlace, type Place, type WalkOptions } from "./confined-path.js";
import { fileFailure } from "./file-failure.js";
import { listPlace } from "./list-directory.js";
import { fileStat, readPlace } from "./read-file.js";
import { writePlace } from "./write-file.js";
import { WriteRecords } from "./write-records.js";

export interface FilesOptions {
  /** The session's directory on the host: the sandbox's `/`. */
  readonly root: string;
  /** Where the records of writes are kept. */
  readonly writes: string;
  /** Where removed directories wait for their deletion, out of the sandbox's reach. */
  readonly removed: string;
  /** Absolute paths in the sandbox that the primitives may touch. */
  readonly allowed: readonly string[];
  /** Throws when the session is stopped or gone. */
  check(): Promise<unknown>;
}

/** The file primitives of a session, on the host's side of its directory. */
export function createFiles(options: FilesOptions): Files {
  const { root, allowed } = options;
  const records = new WriteRecords(options.writes, removeFile);

  async function at<T>(
    path: string,
    walk: Omit<WalkOptions, "root" | "allowed">,
    use: (place: Place) => Promise<T>,
  ): Promise<T> {
    await options.check();
    try {
      return await atPlace(path, { root, allowed, ...walk }, use);
    } catch (error) {
      throw fileFailure(error, path);
    }
  }

  async function removeFile(path: string): Promise<boolean> {
    try {
      await at(path, { followFinal: false, makeParents: false }, async (place) => {
        await rm(join(place.parent, place.name));
      });
      return true;
    } catch (error) {
      if (error instanceof ProviderError && error.code === "not-found") return false;
      throw error;
    }
  }

  return {
    read: (path, range) =>
      at(path, { followFinal: true, makeParents: false }, (place) => readPlace(place, range)),

    async write(path, content, writeOptions) {
      const { record } = writeOptions;
      const earlier =
        record === undefined ? undefined : await this.recorded(record.callId, record.requestHash);
      if (earlier !== undefined) return { created: earlier.created, sizeBytes: earlier.sizeBytes };
      return at(path, { followFinal: true, makeParents: true }, (place) =>
        writePlace(place, content, { ...writeOptions, records }),
      );
    },

    async recorded(callId, requestHash) {
      await options.check();
      return records.find(callId, requestHash);
    },

    async stat(path) {
      try {
        return await at(path, { followFinal: false, makeParents: false }, (place) =>
          Promise.resolve(place.stats === undefined ? undefined : fileStat(place.stats)),
        );
      } catch (error) {
        if (error instanceof ProviderError && error.code === "not-found") return undefined;
        throw error;
      }
    },

    list: (path, { maxEntries }) =>
      at(path, { followFinal: true, makeParents: false, enterFinal: true }, (place) =>
        listPlace(place, maxEntries),
      ),

    async remove(path, { recursive, force }) {
      try {
        await at(path, { followFinal: false, makeParents: false }, async (place) => {
          await removePlace(place, recursive);
        });
      } catch (error) {
        if (force && error instanceof ProviderError && error.code === "not-found") return;
        throw error;
      }
    },
  };

  async function removePlace(place: Place, recursive: boolean): Promise<void> {
    const path = JSON.stringify(place.path);
    if (place.stats === undefined) throw new ProviderError("not-found", `${path} does not exist`);
    if (place.name === "." || allowed.includes(place.path)) {
      throw new ProviderError("denied", `${path} itself can't be removed`, { hint: "Remove what is in it." });
    }
    const target = join(place.parent, place.name);
    if (!place.stats.isDirectory()) {
      await rm(target);
      return;
    }
    if (!recursive) {
      throw new ProviderError("not-a-file", `${path} is a directory`, { hint: "Remove it with recursive." });
    }
    // Out of the sandbox first: nothing in there can then swap a directory for a link while it is deleted.
    const grave = `${options.removed}-${randomUUID()}`;
    await rename(target, grave);
    await rm(grave, { recursive: true, force: true, maxRetries: 3 });
  }
}
