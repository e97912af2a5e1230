import { isUtf8 } from "node:buffer";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Files } from "../providers/channel.js";
import { hasCode } from "../providers/errors.js";
import { fileChunks } from "./file-content.js";

const maxFileBytes = 16 * 1024 * 1024;
const maxLineCharacters = 2000;
/** Other calls of the worker go on meanwhile. */
const linesPerTurn = 20_000;

export interface FileMatch {
  readonly line: number;
  readonly text: string;
  readonly before?: string[];
  readonly after?: string[];
}

/** What one file came to; `warning` says what may be missing. */
export interface FileMatches {
  readonly path: string;
  readonly matches: readonly FileMatch[];
  readonly warning?: string;
}

export interface FileSearch {
  readonly files: Files;
  /** Absolute in the sandbox. */
  readonly path: string;
  matches(line: string): boolean;
  readonly context: number;
  /** At most so many matches are of use. */
  readonly limit: number;
  readonly signal: AbortSignal;
}

/** Searches one file line by line. A file with a NUL is binary and has no lines. */
export async function grepFile(search: FileSearch): Promise<FileMatches> {
  const { path } = search;
  const content = await contentOf(search);
  if (typeof content === "string") return { path, matches: [], warning: content };
  if (content === undefined) return { path, matches: [] };
  const lines = content.toString("utf8").split("\n");
  // What follows the last newline is not a line when it is empty.
  if (lines.at(-1) === "") lines.pop();
  const matches: FileMatch[] = [];
  for (const [index, line] of lines.entries()) {
    if (index % linesPerTurn === linesPerTurn - 1) {
      await nextTurn();
      search.signal.throwIfAborted();
    }
    if (!search.matches(line)) continue;
    matches.push(withContext(lines, index, search.context));
    if (matches.length === search.limit) break;
  }
  const lossy = matches.length > 0 && !isUtf8(content);
  return { path, matches, ...(lossy ? { warning: "is not UTF-8: its text is shown with U+FFFD" } : {}) };
}

/** Undefined for a binary file, a text for one that can't be searched. */
async function contentOf({ files, path, signal }: FileSearch): Promise<Buffer | string | undefined> {
  const parts: Uint8Array[] = [];
  try {
    for await (const { bytes, stat } of fileChunks(files, path, signal)) {
      if (bytes.includes(0)) return undefined;
      if (stat.sizeBytes > maxFileBytes) return `has more than ${maxFileBytes} bytes: not searched`;
      parts.push(bytes);
    }
  } catch (error) {
    if (hasCode(error, "denied")) return "may not be read: not searched";
    // Gone or replaced since its directory was listed is as good as never there.
    if (hasCode(error, "not-found", "not-a-file")) return undefined;
    throw error;
  }
  return Buffer.concat(parts);
}

function withContext(lines: readonly string[], index: number, context: number): FileMatch {
  const line = { line: index + 1, text: shortened(lines[index] ?? "") };
  if (context === 0) return line;
  return {
    ...line,
    before: lines.slice(Math.max(0, index - context), index).map(shortened),
    after: lines.slice(index + 1, index + 1 + context).map(shortened),
  };
}

function shortened(line: string): string {
  if (line.length <= maxLineCharacters) return line;
  // Not within a surrogate pair.
  return `${line.slice(0, maxLineCharacters).replace(/[\ud800-\udbff]$/, "")} [... line cut ...]`;
}
