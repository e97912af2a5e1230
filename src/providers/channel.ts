import type { Outcome } from "../contract/call.js";
import type { BackgroundProcess } from "../contract/state.js";

/**
 * The way into one sandbox: calls and file primitives. The docker and msb providers speak it to the guest;
 * just-bash has its own. Everything above (tools, attach, collector) is built on it once, for all.
 *
 * A channel may break at any time. Every method then throws `ProviderError` `unavailable`; the caller connects
 * again and repeats the call by its id, which is safe because claims are durable.
 */
export interface Channel {
  /** Random per start of the sandbox's supervisor: another epoch means that running commands died. */
  readonly epoch: string;
  readonly closed: boolean;

  /**
   * Claims `callId` durably, then starts the command. The same id again never starts anything: it says what
   * the first claim came to. The same id with another script is `conflict` (thrown).
   * Throws `cannot-start` for a missing cwd or shell; that too is recorded under the claim.
   */
  run(request: RunRequest): Promise<{ state: "started" | "attached" }>;

  /**
   * Delivers output from the given offsets, then how the call ended. Returns only when both streams were
   * delivered up to the totals in the end record; anything less throws `unavailable` (interrupted).
   * Aborting `signal` ends the following, never the command. Back-pressure: `onOutput` is awaited.
   */
  follow(callId: string, options: FollowOptions): Promise<CallEnd>;

  /**
   * TERM, grace, KILL to everything of the call; resolves when confirmed. An unknown id resolves too. Aborting
   * `signal` ends the waiting with its reason, never the kill.
   */
  kill(callId: string, options: KillOptions): Promise<void>;

  /** Output and record of these calls may go; a tombstone stays. Unknown ids are fine. */
  acknowledge(callIds: readonly string[]): Promise<void>;

  /** Everything the spool knows: to adopt or kill what no history knows, and to list survivors. */
  calls(): Promise<CallEntry[]>;

  readonly files: Files;

  close(): Promise<void>;
}

export interface RunRequest {
  readonly callId: string;
  readonly script: string;
  /** Absolute path in the sandbox. */
  readonly cwd: string;
  /** All variables of the command beside the base (HOME, PATH, locale), secrets included. */
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  /** Per stream. */
  readonly outputLimitBytes: number;
}

export type OutputStream = "stdout" | "stderr";
export type Offsets = Readonly<Record<OutputStream, number>>;
export type KillCause = "cancelCall" | "stop" | "delete" | "workflow-cancel";

export interface KillOptions {
  readonly graceMs: number;
  readonly cause: KillCause;
  readonly signal?: AbortSignal;
}

export interface FollowOptions {
  readonly from: Offsets;
  onOutput(stream: OutputStream, bytes: Uint8Array, offset: number): void | Promise<void>;
  readonly signal: AbortSignal;
}

export interface CallEnd {
  readonly outcome: Extract<
    Outcome,
    {
      kind: "exited" | "signaled" | "timed-out" | "cancelled" | "output-limit" | "lost" | "error";
    }
  >;
  readonly totals: Offsets;
  readonly startedAtMs: number;
  readonly endedAtMs: number;
  readonly background: readonly BackgroundProcess[];
  /** Set when processes of the call could not be ended: the sandbox must be removed. */
  readonly poisoned?: boolean;
}

export interface CallEntry {
  readonly callId: string;
  readonly state: "claimed" | "running" | "ended" | "acknowledged";
}

/**
 * File primitives, done as the session user (uploads as root) on descriptors beneath a root, so that links and
 * races are settled where they happen. Paths are absolute in the sandbox. Errors: `not-found`, `not-a-file`,
 * `denied` (leaves the roots, or permission), `too-large`, `no-space`.
 */
export interface Files {
  /** Reads a regular file from `offset`, at most `lengthBytes`. Anything but a regular file: `not-a-file`, at once. */
  read(
    path: string,
    range: { offset: number; lengthBytes: number },
  ): Promise<{ bytes: Uint8Array; stat: FileStat }>;
  /**
   * Replaces a file atomically (parents are made); on any failure the old content stays. With `record` the write
   * is done at most once per callId: the record is durable with it, and `recorded` finds it afterwards.
   */
  write(
    path: string,
    content: AsyncIterable<Uint8Array>,
    options: WriteOptions,
  ): Promise<{ created: boolean; sizeBytes: number }>;
  /** What an earlier recorded write of this call came to; `conflict` when the request differs. */
  recorded(callId: string, requestHash: string): Promise<WriteRecord | undefined>;
  /** Without following a final link. Undefined when there is none. */
  stat(path: string): Promise<FileStat | undefined>;
  /** Names are raw bytes: they need not be UTF-8. Unsorted, at most `maxEntries`. */
  list(
    path: string,
    options: { maxEntries: number },
  ): Promise<{ entries: DirectoryEntry[]; truncated: boolean }>;
  remove(path: string, options: { recursive: boolean; force: boolean }): Promise<void>;
}

export interface FileStat {
  readonly type: "dir" | "file" | "link" | "other";
  readonly sizeBytes: number;
  /** Permission bits. */
  readonly mode: number;
  readonly modifiedAtMs: number;
}

export interface DirectoryEntry {
  readonly name: Uint8Array;
  readonly type: FileStat["type"];
  readonly sizeBytes: number;
}

export interface WriteOptions {
  readonly mode?: number;
  readonly record?: { readonly callId: string; readonly requestHash: string; readonly result?: unknown };
}

export interface WriteRecord {
  readonly created: boolean;
  readonly sizeBytes: number;
  readonly result?: unknown;
}
