import { writeFile } from "node:fs/promises";
import { longestTimerMs } from "../../exec/abortable.js";
import { hasCode, ProviderError } from "../errors.js";
import type { CallEnd, KillCause, OutputStream, RunRequest } from "../channel.js";
import type { CallRecord } from "./call-record.js";
import { isErrno } from "./durable-file.js";
import type { SessionMeta } from "./meta.js";
import type { ThreadEnding, ThreadLease, ThreadPool } from "./thread-pool.js";

/** The interpreter keeps a command's output in memory; beyond this it gives up, whatever the call's own limit. */
const maxOutputBytes = 256 * 1024 ** 2;
/** Between asking a script to end and ending its thread: enough for a `sleep` to notice, no more. */
const windDownMs = 500;

export interface ClaimedCall {
  readonly record: CallRecord;
  /** The session's directory on the host, as the command's root. */
  readonly root: string;
  readonly session: Pick<SessionMeta, "user" | "network" | "memoryBytes" | "env">;
  readonly request: RunRequest;
  readonly startedAtMs: number;
}

export type Interruption =
  | { readonly kind: "timeout" }
  | { readonly kind: "killed"; readonly cause: KillCause }
  | { readonly kind: "closing" };

/** One claimed call, from the wait for a thread to its recorded end. */
export class CallExecution {
  readonly #call: ClaimedCall;
  readonly #pool: ThreadPool;
  /** The first reason to end it wins. */
  #interruption: Interruption | undefined;
  #interrupted = (): void => undefined;
  #lease: ThreadLease | undefined;
  #terminateTimer: NodeJS.Timeout | undefined;

  constructor(call: ClaimedCall, pool: ThreadPool) {
    this.#call = call;
    this.#pool = pool;
  }

  interrupt(interruption: Interruption, graceMs: number): void {
    if (this.#interruption !== undefined) return;
    this.#interruption = interruption;
    this.#interrupted();
    const lease = this.#lease;
    if (lease === undefined) return;
    lease.windDown();
    this.#terminateTimer = setTimeout(
      () => {
        lease.terminate();
      },
      Math.min(graceMs, windDownMs),
    );
  }

  /** Never throws: what goes wrong becomes the call's end, as far as that can still be written. */
  async finish(): Promise<void> {
    const { record, startedAtMs } = this.#call;
    try {
      const { outcome, output } = await this.#run();
      await writeFile(record.outputPath("stdout"), output.stdout, { mode: 0o600 });
      await writeFile(record.outputPath("stderr"), output.stderr, { mode: 0o600 });
      const totals = { stdout: output.stdout.length, stderr: output.stderr.length };
      await record.createEnd({ outcome, totals, startedAtMs, endedAtMs: Date.now() });
    } catch (error) {
      await this.#recordFailure(error);
    }
  }

  async #run(): Promise<{ outcome: CallEnd["outcome"]; output: Output }> {
    const { request, root, session } = this.#call;
    const interrupted = new Promise<void>((resolve) => {
      this.#interrupted = resolve;
    });
    const early = this.#interruption;
    const lease =
      early === undefined ? await this.#pool.lease(root, session.memoryBytes, interrupted) : undefined;
    if (lease === undefined || this.#interruption !== undefined) {
      lease?.terminate();
      return { outcome: this.#outcomeOf({ type: "terminated" }), output: noOutput };
    }
    this.#lease = lease;
    const timeout = setTimeout(
      () => {
        this.interrupt({ kind: "timeout" }, windDownMs);
      },
      Math.min(request.timeoutMs, longestTimerMs),
    );
    const ending = await lease.run({
      root,
      script: request.script,
      cwd: request.cwd,
      env: { HOME: "/home/sandbox", USER: session.user, LANG: "C.UTF-8", ...session.env, ...request.env },
      network: session.network,
      maxOutputBytes: this.#maxOutputBytes(),
      // The interpreter's own clock is the second line: the timer above comes first.
      maxTimeMs: Math.min(request.timeoutMs, longestTimerMs - windDownMs) + windDownMs,
    });
    // Before anything else: a finished command must not become a timeout while its output is written.
    clearTimeout(timeout);
    clearTimeout(this.#terminateTimer);
    return limited(this.#outcomeOf(ending), ending, request.outputLimitBytes, this.#maxOutputBytes());
  }

  /** Both streams together, so that one of them can reach its own limit first. */
  #maxOutputBytes(): number {
    return Math.min(2 * this.#call.request.outputLimitBytes + 1, maxOutputBytes);
  }

  #outcomeOf(ending: ThreadEnding): CallEnd["outcome"] {
    const interruption = this.#interruption;
    if (interruption?.kind === "timeout") {
      return { kind: "timed-out", timeoutMs: this.#call.request.timeoutMs };
    }
    if (interruption?.kind === "killed") return { kind: "cancelled", by: interruption.cause };
    if (interruption?.kind === "closing") return { kind: "lost", reason: "the worker that ran it shut down" };
    switch (ending.type) {
      case "ended":
        return { kind: "exited", exitCode: ending.exitCode };
      case "out-of-memory":
        return { kind: "signaled", signal: "SIGKILL", exitCode: 137, oom: true };
      case "refused":
        return { kind: "error", error: cannotStart(this.#call.request.cwd).toFailure() };
      case "terminated":
        return { kind: "lost", reason: "the thread that ran it was ended" };
      case "failed":
        return {
          kind: "error",
          error: {
            code: "internal",
            message: `the simulated shell failed: ${ending.message}`,
            hint: "Try the command in smaller steps; the session itself is intact.",
          },
        };
    }
  }

  async #recordFailure(error: unknown): Promise<void> {
    const failure = isErrno(error, "ENOSPC", "EDQUOT")
      ? new ProviderError("no-space", "the host's disk is full: the command ran, its output is lost")
      : hasCode(error, "unavailable")
        ? error
        : new ProviderError("internal", `the command's end could not be recorded: ${String(error)}`);
    try {
      await this.#call.record.createEnd({
        outcome: { kind: "error", error: failure.toFailure() },
        totals: await this.#call.record.sizes(),
        startedAtMs: this.#call.startedAtMs,
        endedAtMs: Date.now(),
      });
    } catch {
      // The session was removed meanwhile, or nothing at all can be written. Whoever follows the call finds it
      // without an owner and without an end, and answers `lost`.
    }
  }
}

export function cannotStart(cwd: string): ProviderError {
  return new ProviderError("cannot-start", `the working directory ${cwd} does not exist`, {
    field: "input.cwd",
    hint: "Create it first, or leave cwd out to use the workspace.",
  });
}

type Output = Readonly<Record<OutputStream, Uint8Array>>;
const noOutput: Output = { stdout: new Uint8Array(), stderr: new Uint8Array() };

/** Cuts the streams to the limit and says so; also when the interpreter itself gave up because of its own. */
function limited(
  outcome: CallEnd["outcome"],
  ending: ThreadEnding,
  limitBytes: number,
  interpreterBytes: number,
): { outcome: CallEnd["outcome"]; output: Output } {
  if (ending.type !== "ended") return { outcome, output: noOutput };
  const output = {
    stdout: ending.stdout.subarray(0, limitBytes),
    stderr: ending.stderr.subarray(0, limitBytes),
  };
  if (outcome.kind !== "exited") return { outcome, output };
  if (ending.stdout.length > limitBytes) return { outcome: over("stdout", limitBytes), output };
  if (ending.stderr.length > limitBytes) return { outcome: over("stderr", limitBytes), output };
  // Exit 126 and this remark at the very end are how the interpreter says that it stopped at its limit.
  const remark = Buffer.from(ending.stderr.subarray(-400)).toString("utf8");
  const stopped = ending.exitCode === 126 && remark.includes(`(${interpreterBytes} bytes)`);
  const stoppedTotal = ending.exitCode === 126 && remark.includes(`(>${interpreterBytes} bytes)`);
  if (!stopped && !stoppedTotal) return { outcome, output };
  return { outcome: over("stdout", Math.min(limitBytes, interpreterBytes)), output };
}

function over(stream: OutputStream, limitBytes: number): CallEnd["outcome"] {
  return { kind: "output-limit", stream, limitBytes };
}
