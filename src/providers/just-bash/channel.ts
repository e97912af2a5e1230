import { createHash } from "node:crypto";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { abortable } from "../../exec/abortable.js";
import type {
  CallEnd,
  CallEntry,
  Channel,
  Files,
  FollowOptions,
  KillOptions,
  RunRequest,
} from "../channel.js";
import { ProviderError } from "../errors.js";
import { cannotStart } from "./call-execution.js";
import { CallRecord, type Claim } from "./call-record.js";
import type { CallRunner } from "./call-runner.js";
import { acknowledged, callRecords, killCall, pollMs, settle } from "./calls.js";
import { isErrno, onDisk } from "./durable-file.js";
import { atPlace } from "./files/confined-path.js";
import { createFiles } from "./files/files.js";
import { callName, sessionPaths } from "./layout.js";
import { readSessionMeta, type SessionMeta } from "./meta.js";
import { deliver } from "./output-delivery.js";

/** Directories that a command sees but that are not on disk. */
const systemDirectories = /^\/(bin|usr\/bin|dev|proc)(\/|$)/;

export class JustBashChannel implements Channel {
  readonly epoch: string;
  readonly files: Files;
  readonly #directory: string;
  readonly #runner: CallRunner;
  #closed = false;

  constructor(directory: string, meta: SessionMeta, runner: CallRunner) {
    this.epoch = meta.epoch;
    this.#directory = directory;
    this.#runner = runner;
    const paths = sessionPaths(directory);
    this.files = createFiles({
      root: paths.root,
      writes: paths.writes,
      removed: paths.removed,
      allowed: [meta.workspace, "/mnt/session"],
      check: () => this.#session(),
    });
  }

  get closed(): boolean {
    return this.#closed;
  }

  run(request: RunRequest): Promise<{ state: "started" | "attached" }> {
    return onDisk(() => this.#run(request));
  }

  async #run(request: RunRequest): Promise<{ state: "started" | "attached" }> {
    const meta = await this.#session();
    if (request.script.includes("\0")) {
      throw new ProviderError("invalid-request", "the command contains a NUL character", {
        field: "input.command",
        hint: "Write binary data to a file with the write tool.",
      });
    }
    const record = this.#record(request.callId);
    const requestHash = createHash("sha256").update(`${request.cwd}\0${request.script}`).digest("hex");
    await mkdir(record.directory, { recursive: true, mode: 0o700 });
    const startedAtMs = Date.now();
    const root = sessionPaths(this.#directory).root;
    const started = await this.#runner.start(
      { record, root, session: meta, request, startedAtMs },
      async () => {
        const { callId } = request;
        const owner = await this.#runner.owner();
        if (!(await record.createClaim({ version: 1, callId, requestHash, owner, startedAtMs })))
          return false;
        return this.#mayStart(record, request, startedAtMs);
      },
    );
    if (started) return { state: "started" };
    const claim = await record.readClaim();
    if (claim === undefined) throw new ProviderError("unavailable", "the call's claim could not be written");
    if (claim.requestHash !== requestHash) {
      throw new ProviderError("conflict", `call ${request.callId} was claimed by another command`, {
        field: "callId",
        hint: "Use a new callId for a new command.",
      });
    }
    const end = await record.readEnd();
    if (end?.outcome.kind === "error" && end.outcome.error.code === "cannot-start") {
      throw cannotStart(request.cwd);
    }
    return { state: "attached" };
  }

  async follow(callId: string, options: FollowOptions): Promise<CallEnd> {
    const record = this.#record(callId);
    const end = await onDisk(() => this.#end(record, callId, options.signal));
    await deliver(record, end, options);
    return end;
  }

  async kill(callId: string, options: KillOptions): Promise<void> {
    this.#open();
    const record = this.#record(callId);
    await onDisk(() => killCall({ record, runner: this.#runner, ...options }));
  }

  acknowledge(callIds: readonly string[]): Promise<void> {
    return onDisk(() => this.#acknowledge(callIds));
  }

  async #acknowledge(callIds: readonly string[]): Promise<void> {
    this.#open();
    for (const callId of callIds) {
      const record = this.#record(callId);
      if ((await record.readEnd()) === undefined) continue;
      // The tombstone first: without it a removed record would read as a call that never ended.
      await record.createAcknowledged();
      for (const file of ["stdout", "stderr", "end.json", "kill.json"]) {
        await rm(join(record.directory, file), { force: true });
      }
    }
  }

  calls(): Promise<CallEntry[]> {
    return onDisk(() => this.#calls());
  }

  async #calls(): Promise<CallEntry[]> {
    this.#open();
    const entries: CallEntry[] = [];
    for (const record of await callRecords(this.#directory)) {
      const claim = await record.readClaim();
      // A directory without a claim: its maker died before it claimed anything.
      if (claim === undefined) continue;
      const state = (await record.isAcknowledged())
        ? "acknowledged"
        : (await settle(record, claim, this.#runner)) === undefined
          ? "running"
          : "ended";
      entries.push({ callId: claim.callId, state });
    }
    return entries;
  }

  close(): Promise<void> {
    this.#closed = true;
    return Promise.resolve();
  }

  #open(): void {
    if (this.#closed) throw new ProviderError("unavailable", "this channel is closed; connect again");
  }

  async #session(): Promise<SessionMeta> {
    this.#open();
    return runningSession(this.#directory);
  }

  #record(callId: string): CallRecord {
    return new CallRecord(join(sessionPaths(this.#directory).calls, callName(callId)));
  }

  /** Waits until the call has ended. */
  async #end(record: CallRecord, callId: string, signal: AbortSignal): Promise<CallEnd> {
    await this.#session();
    const claim = await this.#claim(record, callId);
    for (;;) {
      signal.throwIfAborted();
      const end = await settle(record, claim, this.#runner);
      if (end !== undefined) return end;
      await this.#wait(record, signal);
    }
  }

  async #claim(record: CallRecord, callId: string): Promise<Claim> {
    const claim = await record.readClaim();
    if (claim === undefined) {
      throw new ProviderError("not-found", `no call ${callId} was started in this session`);
    }
    if (await record.isAcknowledged()) throw acknowledged(callId);
    return claim;
  }

  /** After the claim, because a stop or removal that doesn't see the claim has changed the state before. */
  async #mayStart(record: CallRecord, request: RunRequest, startedAtMs: number): Promise<boolean> {
    const totals = { stdout: 0, stderr: 0 };
    const meta = await readSessionMeta(this.#directory);
    if (meta?.state !== "running") {
      const outcome = { kind: "cancelled", by: "stop" } as const;
      await record.createEnd({ outcome, totals, startedAtMs, endedAtMs: Date.now() });
      return false;
    }
    const { root } = sessionPaths(this.#directory);
    if (systemDirectories.test(request.cwd) || (await isDirectory(root, request.cwd))) return true;
    const outcome = { kind: "error", error: cannotStart(request.cwd).toFailure() } as const;
    await record.createEnd({ outcome, totals, startedAtMs, endedAtMs: Date.now() });
    return false;
  }

  async #wait(record: CallRecord, signal: AbortSignal): Promise<void> {
    await abortable(this.#runner.ended(record) ?? sleep(pollMs), signal);
  }
}

async function isDirectory(root: string, path: string): Promise<boolean> {
  const walk = { root, allowed: ["/"], followFinal: true, makeParents: false };
  try {
    return await atPlace(path, walk, (place) => Promise.resolve(place.stats?.isDirectory() === true));
  } catch (error) {
    // Unreachable in whatever way: to the command, there is no such directory.
    if (error instanceof ProviderError || isErrno(error, "EACCES", "ENAMETOOLONG", "ENOTDIR")) return false;
    throw error;
  }
}

export async function runningSession(directory: string): Promise<SessionMeta> {
  const meta = await readSessionMeta(directory);
  if (meta === undefined) {
    throw new ProviderError("session-lost", "the session's directory is gone from this host", {
      hint: "Start the session again; its files are lost.",
    });
  }
  if (meta.state !== "running") {
    throw new ProviderError("closed", `session ${meta.session.sessionId} is stopped`, {
      hint: "Resume it first.",
    });
  }
  return meta;
}
