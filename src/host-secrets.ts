import { readFile, realpath, stat } from "node:fs/promises";
import { resolve, sep } from "node:path";
import { limits } from "./contract/names.js";
import type { SecretReaders } from "./exec/secrets.js";

/** The worker's own credentials: no session may ask for them. */
const ownPrefixes = ["TEMPORAL_", "HOLDFAST_"];

/**
 * Secrets of this host: variables of the worker's environment, and files below one directory. Whoever may start a
 * session names the key, so any other file that the worker's user can read is out of reach.
 */
export function createHostSecrets(options: {
  readonly environment: Readonly<Record<string, string>>;
  /** Absolute. */
  readonly directory: string;
}): SecretReaders {
  const { environment, directory } = options;
  return {
    env: (key) =>
      Promise.resolve(ownPrefixes.some((prefix) => key.startsWith(prefix)) ? undefined : environment[key]),
    async file(key) {
      const named = resolve(directory, key);
      // Before anything is looked at: whether a file exists elsewhere is no business of a session either.
      if (!isBelow(directory, named)) return "outside";
      try {
        const path = await realpath(named);
        // A link in the directory may lead out of it.
        if (!isBelow(await realpath(directory), path)) return "outside";
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

const isBelow = (directory: string, path: string): boolean =>
  path.startsWith(directory.endsWith(sep) ? directory : `${directory}${sep}`);
