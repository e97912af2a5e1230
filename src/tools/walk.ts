import type { DirectoryEntry, Files } from "../providers/channel.js";
import { hasCode } from "../providers/errors.js";
import { displayName } from "./utf8.js";

/** Bounds the work of one search in a sandbox with millions of files. */
const maxVisited = 200_000;
const maxEntries = 100_000;

export interface Found {
  /** Relative to where the walk began. */
  readonly path: string;
  readonly type: DirectoryEntry["type"];
  /** False when the last name isn't UTF-8, so that the path is for people only. */
  readonly isExact: boolean;
}

export interface WalkOptions {
  readonly files: Files;
  readonly root: string;
  readonly signal: AbortSignal;
  /** Entries it names are left out, and directories among them aren't walked. */
  isIgnored(path: string): boolean;
  /** Something was not looked at: too many entries, no permission, or a name that no path can hold. */
  onIncomplete(): void;
}

/** Everything below a directory, depth first, names in order. Links are told, never followed. */
export async function* walk(options: WalkOptions): AsyncGenerator<Found, void> {
  const { root } = options;
  const pending: string[] = [""];
  let visited = 0;
  for (let directory = pending.pop(); directory !== undefined; directory = pending.pop()) {
    options.signal.throwIfAborted();
    const entries = await listed(options, directory === "" ? root : `${root}/${directory}`, directory === "");
    const below: string[] = [];
    for (const entry of entries) {
      visited += 1;
      if (visited > maxVisited) {
        options.onIncomplete();
        return;
      }
      const { name, nameBase64 } = displayName(entry.name);
      const path = directory === "" ? name : `${directory}/${name}`;
      if (options.isIgnored(path)) continue;
      yield { path, type: entry.type, isExact: nameBase64 === undefined };
      if (entry.type !== "dir") continue;
      // A path is a string; into a directory whose name isn't one there is no way.
      if (nameBase64 === undefined) below.push(path);
      else options.onIncomplete();
    }
    pending.push(...below.reverse());
  }
}

async function listed(options: WalkOptions, path: string, isRoot: boolean): Promise<DirectoryEntry[]> {
  try {
    const { entries, truncated } = await options.files.list(path, { maxEntries });
    if (truncated) options.onIncomplete();
    return [...entries].sort((a, b) => Buffer.compare(a.name, b.name));
  } catch (error) {
    if (isRoot || !hasCode(error, "denied", "not-found", "not-a-file")) throw error;
    // Gone or replaced since its parent was listed is as good as never there; without permission it is a gap.
    if (hasCode(error, "denied")) options.onIncomplete();
    return [];
  }
}
