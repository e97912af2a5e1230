import { readFile, stat } from "node:fs/promises";
import { limits } from "./contract/names.js";
import type { SecretReaders } from "./exec/secrets.js";

/** The worker's own credentials: no session may ask for them. */
const ownPrefixes = ["TEMPORAL_", "HOLDFAST_"];

/** Secrets of this host: variables of the worker's environment, and files that its user may read. */
export function createHostSecrets(environment: Readonly<Record<string, string>>): SecretReaders {
  return {
    env: (key) =>
      Promise.resolve(ownPrefixes.some((prefix) => key.startsWith(prefix)) ? undefined : environment[key]),
    async file(path) {
      try {
        const found = await stat(path);
        // A pipe or a device may never end.
        if (!found.isFile()) throw new Error("not a regular file");
        // A value beyond this is refused anyway; a disk image need not be read for it.
        if (found.size > limits.envEntryBytes) return Buffer.alloc(limits.envEntryBytes + 1, "x");
        return await readFile(path);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
        throw error;
      }
    },
  };
}
