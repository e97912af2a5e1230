import { abortable, longestTimerMs } from "../../exec/abortable.js";
import type { CallEnd, FollowOptions, KillCause, OutputStream, RunRequest } from "../channel.js";
import { ProviderError } from "../errors.js";
import type { FakeCommand } from "./script.js";

const chunkBytes = 64 * 1024;

/** One claimed call of the fake: its output is there at once, its end when its time has come. */
export class FakeCall {
  readonly callId: string;
  readonly script: string;
  acknowledged = false;
  /** Set when it could not be started. */
  readonly refusal: ProviderError | undefined;
  readonly #request: RunRequest;
  readonly #startedAtMs = Date.now();
  readonly #output: Record<OutputStream, Buffer>;
  readonly #timers: NodeJS.Timeout[] = [];
  readonly #ended: Promise<CallEnd>;
  #resolve: (end: CallEnd) => void = () => undefined;
  #end: CallEnd | undefined;

  /** `command` is what it does, or the directory that is missing. */
  constructor(request: RunRequest, command: FakeCommand | string) {
    this.callId = request.callId;
    this.script = request.script;
    this.#request = request;
    this.#ended = new Promise((resolve) => {
      this.#resolve = resolve;
    });
    if (typeof command === "string") {
      this.refusal = new ProviderError("cannot-start", `the working directory ${command} does not exist`, {
        field: "input.cwd",
        hint: "Create it first, or leave cwd out to use the workspace.",
      });
      this.#output = { stdout: Buffer.alloc(0), stderr: Buffer.alloc(0) };
      this.#finish({ kind: "error", error: this.refusal.toFailure() });
      return;
    }
    const limit = request.outputLimitBytes;
    const full = { stdout: Buffer.from(command.stdout ?? ""), stderr: Buffer.from(command.stderr ?? "") };
    this.#output = { stdout: full.stdout.subarray(0, limit), stderr: full.stderr.subarray(0, limit) };
    const over = (["stdout", "stderr"] as const).find((stream) => full[stream].length > limit);
    if (over !== undefined) this.#finish({ kind: "output-limit", stream: over, limitBytes: limit });
    else if (command.lost !== undefined) this.#finish({ kind: "lost", reason: command.lost });
    else this.#schedule(command);
  }

  get running(): boolean {
    return this.#end === undefined;
  }

  kill(cause: KillCause): void {
    this.#finish({ kind: "cancelled", by: cause });
  }

  lose(reason: string): void {
    this.#finish({ kind: "lost", reason });
  }

  async follow(options: FollowOptions): Promise<CallEnd> {
    for (const stream of ["stdout", "stderr"] as const) {
      const bytes = this.#output[stream];
      for (let offset = options.from[stream]; offset < bytes.length; offset += chunkBytes) {
        options.signal.throwIfAborted();
        await options.onOutput(stream, bytes.subarray(offset, offset + chunkBytes), offset);
      }
    }
    return abortable(this.#ended, options.signal);
  }

  #schedule({ exitCode = 0, delayMs = 0 }: FakeCommand): void {
    const { timeoutMs } = this.#request;
    if (delayMs === 0) {
      this.#finish({ kind: "exited", exitCode });
      return;
    }
    const after = (ms: number, outcome: CallEnd["outcome"]): void => {
      const timer = setTimeout(
        () => {
          this.#finish(outcome);
        },
        Math.min(ms, longestTimerMs),
      );
      this.#timers.push(timer);
    };
    if (delayMs < timeoutMs) after(delayMs, { kind: "exited", exitCode });
    else after(timeoutMs, { kind: "timed-out", timeoutMs });
  }

  #finish(outcome: CallEnd["outcome"]): void {
    if (this.#end !== undefined) return;
    for (const timer of this.#timers) clearTimeout(timer);
    this.#end = {
      outcome,
      totals: { stdout: this.#output.stdout.length, stderr: this.#output.stderr.length },
      startedAtMs: this.#startedAtMs,
      endedAtMs: Date.now(),
      background: [],
    };
    this.#resolve(this.#end);
  }
}

export function requireCall(call: FakeCall | undefined, callId: string): FakeCall {
  if (call === undefined) {
    throw new ProviderError("not-found", `no call ${callId} was started in this session`);
  }
  if (call.acknowledged) {
    throw new ProviderError("not-found", `call ${callId} was acknowledged: its output is gone`);
  }
  return call;
}
