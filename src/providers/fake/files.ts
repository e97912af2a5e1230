import { posix } from "node:path";
import type { DirectoryEntry, Files, FileStat, WriteRecord } from "../channel.js";
import { ProviderError } from "../errors.js";

interface Entry {
  readonly type: "dir" | "file";
  readonly bytes: Buffer;
  readonly mode: number;
  readonly modifiedAtMs: number;
}

/** Files in memory: directories and regular files, no links. They stay over stop and resume, like real ones. */
export class FakeFiles implements Files {
  readonly #entries = new Map<string, Entry>();
  readonly #records = new Map<string, WriteRecord & { requestHash: string }>();
  readonly #allowed: readonly string[];
  readonly #check: () => void;

  constructor(allowed: readonly string[], check: () => void) {
    this.#allowed = allowed;
    this.#check = check;
    for (const path of allowed) this.#makeDirectories(path);
  }

  isDirectory(path: string): boolean {
    return this.#entries.get(posix.normalize(path))?.type === "dir";
  }

  read(
    path: string,
    range: { offset: number; lengthBytes: number },
  ): Promise<{ bytes: Uint8Array; stat: FileStat }> {
    return attempt(() => {
      const entry = this.#entries.get(this.#resolve(path));
      if (entry === undefined) throw missing(path);
      if (entry.type !== "file") throw new ProviderError("not-a-file", `${path} is not a regular file`);
      const bytes = entry.bytes.subarray(range.offset, range.offset + range.lengthBytes);
      return { bytes, stat: statOf(entry) };
    });
  }

  async write(
    path: string,
    content: AsyncIterable<Uint8Array>,
    options: Parameters<Files["write"]>[2],
  ): Promise<{ created: boolean; sizeBytes: number }> {
    const { record } = options;
    const earlier = record && (await this.recorded(record.callId, record.requestHash));
    if (earlier !== undefined) return { created: earlier.created, sizeBytes: earlier.sizeBytes };
    const at = this.#resolve(path);
    const chunks: Uint8Array[] = [];
    for await (const chunk of content) chunks.push(chunk);
    this.#check();
    const existing = this.#entries.get(at);
    if (existing?.type === "dir") throw new ProviderError("not-a-file", `${path} is a directory`);
    this.#makeDirectories(posix.dirname(at));
    const mode = options.mode ?? existing?.mode ?? 0o644;
    const bytes = Buffer.concat(chunks);
    this.#entries.set(at, { type: "file", bytes, mode, modifiedAtMs: Date.now() });
    const written = { created: existing === undefined, sizeBytes: bytes.length };
    if (record !== undefined) {
      const { callId, requestHash, result } = record;
      this.#records.set(callId, { ...written, requestHash, ...(result === undefined ? {} : { result }) });
    }
    return written;
  }

  recorded(callId: string, requestHash: string): Promise<WriteRecord | undefined> {
    return attempt(() => {
      this.#check();
      const record = this.#records.get(callId);
      if (record === undefined) return undefined;
      if (record.requestHash !== requestHash) {
        throw new ProviderError("conflict", `call ${callId} was used for another write`, { field: "callId" });
      }
      const { created, sizeBytes, result } = record;
      return { created, sizeBytes, ...(result === undefined ? {} : { result }) };
    });
  }

  stat(path: string): Promise<FileStat | undefined> {
    return attempt(() => {
      const entry = this.#entries.get(this.#resolve(path));
      return entry && statOf(entry);
    });
  }

  list(
    path: string,
    { maxEntries }: { maxEntries: number },
  ): Promise<{ entries: DirectoryEntry[]; truncated: boolean }> {
    return attempt(() => {
      const at = this.#resolve(path);
      const entry = this.#entries.get(at);
      if (entry === undefined) throw missing(path);
      if (entry.type !== "dir") throw new ProviderError("not-a-file", `${path} is not a directory`);
      const all = [...this.#entries].filter(([name]) => name !== at && posix.dirname(name) === at);
      const entries = all.slice(0, maxEntries).map(([name, { type, bytes }]) => ({
        name: Buffer.from(posix.basename(name)),
        type,
        sizeBytes: bytes.length,
      }));
      return { entries, truncated: all.length > maxEntries };
    });
  }

  remove(path: string, { recursive, force }: { recursive: boolean; force: boolean }): Promise<void> {
    return attempt(() => {
      const at = this.#resolve(path);
      const entry = this.#entries.get(at);
      if (entry === undefined) {
        if (force) return;
        throw missing(path);
      }
      if (this.#allowed.includes(at)) throw new ProviderError("denied", `${path} itself can't be removed`);
      if (entry.type === "dir" && !recursive) {
        throw new ProviderError("not-a-file", `${path} is a directory`, {
          hint: "Remove it with recursive.",
        });
      }
      for (const name of this.#entries.keys()) {
        if (name === at || name.startsWith(`${at}/`)) this.#entries.delete(name);
      }
    });
  }

  #resolve(path: string): string {
    this.#check();
    if (!path.startsWith("/") || path.includes("\0")) {
      throw new ProviderError("invalid-request", `${JSON.stringify(path)} is not an absolute path`, {
        field: "input.path",
      });
    }
    const at = posix.normalize(path).replace(/(?<=.)\/$/, "");
    if (this.#allowed.some((root) => at === root || at.startsWith(`${root}/`))) return at;
    throw new ProviderError("denied", `${path} is outside of ${this.#allowed.join(", ")}`, {
      field: "input.path",
    });
  }

  #makeDirectories(path: string): void {
    for (let at = path; at !== "/"; at = posix.dirname(at)) {
      const entry = this.#entries.get(at);
      if (entry?.type === "file") {
        throw new ProviderError("not-found", `${at} is not a directory`);
      }
      if (entry === undefined) {
        this.#entries.set(at, {
          type: "dir",
          bytes: Buffer.alloc(0),
          mode: 0o755,
          modifiedAtMs: Date.now(),
        });
      }
    }
  }
}

function statOf({ type, bytes, mode, modifiedAtMs }: Entry): FileStat {
  return { type, sizeBytes: bytes.length, mode, modifiedAtMs };
}

function missing(path: string): ProviderError {
  return new ProviderError("not-found", `${path} does not exist`);
}

/** A failure of a method is a rejection, never a throw at its call. */
function attempt<T>(work: () => T): Promise<T> {
  return new Promise((resolve) => {
    resolve(work());
  });
}
