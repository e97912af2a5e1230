import { randomUUID } from "node:crypto";
import type { KillCause } from "../channel.js";
import { ProviderError } from "../errors.js";
import { CallExecution, type ClaimedCall } from "./call-execution.js";
import type { CallRecord } from "./call-record.js";
import { isAlive, ownIdentity, type ProcessIdentity } from "./process-identity.js";
import type { ThreadPool } from "./thread-pool.js";

/** How often kill requests of other processes are looked for, while something runs here. */
const killPollMs = 100;

/** Who runs a call: the process, and which runner in it. */
export type CallOwner = ProcessIdentity & { readonly epoch: string };

interface Running {
  readonly record: CallRecord;
  readonly execution: CallExecution;
  /** Resolves when it is known whether the claim was won. */
  readonly claimed: Promise<void>;
  readonly done: Promise<void>;
}

/** The calls that run on threads of this process. */
export class CallRunner {
  readonly #epoch = randomUUID();
  readonly #pool: ThreadPool;
  readonly #running = new Map<string, Running>();
  #identity: Promise<ProcessIdentity> | undefined;
  #killWatch: NodeJS.Timeout | undefined;
  #closing = false;

  constructor(pool: ThreadPool) {
    this.#pool = pool;
  }

  async owner(): Promise<CallOwner> {
    this.#identity ??= ownIdentity();
    return { ...(await this.#identity), epoch: this.#epoch };
  }

  /** Whether somebody still works on a call that has no end yet. */
  async isOwned(record: CallRecord, owner: CallOwner): Promise<boolean> {
    if (owner.epoch === this.#epoch) return this.#running.has(record.directory);
    return isAlive(owner);
  }

  /**
   * Takes the call on before its claim is written, so that at no moment a claim of this runner looks abandoned.
   * `claim` tells whether the claim was won; only then the call starts.
   */
  async start(call: ClaimedCall, claim: () => Promise<boolean>): Promise<boolean> {
    // Before the claim: it would use the call's id up for nothing.
    if (this.#closing) throw new ProviderError("unavailable", "this worker is shutting down");
    const { directory } = call.record;
    // One that is claiming right now: whoever comes second waits for what comes of it.
    for (let held = this.#running.get(directory); held; held = this.#running.get(directory)) {
      await held.claimed;
      if (this.#running.get(directory) === held) return false;
    }
    const execution = new CallExecution(call, this.#pool);
    const claimed = deferred();
    const done = deferred();
    this.#running.set(directory, {
      record: call.record,
      execution,
      claimed: claimed.promise,
      done: done.promise,
    });
    const release = (): void => {
      this.#running.delete(directory);
      if (this.#running.size === 0) this.#watchKills(false);
      done.resolve();
    };
    let won = false;
    try {
      won = await claim();
    } finally {
      if (!won) release();
      claimed.resolve();
    }
    if (!won) return false;
    this.#watchKills(true);
    // Never throws: its failures become the call's recorded end.
    void execution.finish().finally(release);
    return true;
  }

  /** Resolves when the call ended here; undefined when it doesn't run here. */
  ended(record: CallRecord): Promise<void> | undefined {
    return this.#running.get(record.directory)?.done;
  }

  /** Undefined when the call doesn't run here, else resolves when its end is recorded. */
  kill(record: CallRecord, cause: KillCause, graceMs: number): Promise<void> | undefined {
    const running = this.#running.get(record.directory);
    running?.execution.interrupt({ kind: "killed", cause }, graceMs);
    return running?.done;
  }

  /** Ends what runs here; the records say `lost`. */
  async close(): Promise<void> {
    this.#closing = true;
    const running = [...this.#running.values()];
    for (const { execution } of running) execution.interrupt({ kind: "closing" }, 0);
    await Promise.all(running.map(({ done }) => done));
    this.#watchKills(false);
  }

  #watchKills(on: boolean): void {
    if (on) this.#killWatch ??= setInterval(() => void this.#lookForKills(), killPollMs).unref();
    else {
      clearInterval(this.#killWatch);
      this.#killWatch = undefined;
    }
  }

  async #lookForKills(): Promise<void> {
    for (const { record, execution } of this.#running.values()) {
      try {
        const kill = await record.readKill();
        if (kill !== undefined) execution.interrupt({ kind: "killed", cause: kill.cause }, kill.graceMs);
      } catch {
        // An unreadable request asks for nothing; the one who wrote it waits and says so.
      }
    }
  }
}

function deferred(): { promise: Promise<void>; resolve: () => void } {
  let resolve = (): void => undefined;
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}
