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
import { FakeCall, requireCall } from "./call.js";
import type { FakeSandbox } from "./sandbox.js";
import type { FakeScript } from "./script.js";

/** The way into a sandbox in memory. */
export class FakeChannel implements Channel {
  readonly epoch: string;
  readonly files: Files;
  closed = false;
  readonly #sandbox: FakeSandbox;
  readonly #script: FakeScript;
  readonly #onStart: () => void;

  constructor(sandbox: FakeSandbox, script: FakeScript, onStart: () => void) {
    this.epoch = sandbox.epoch;
    this.files = sandbox.files;
    this.#sandbox = sandbox;
    this.#script = script;
    this.#onStart = onStart;
  }

  async run(request: RunRequest): Promise<{ state: "started" | "attached" }> {
    await Promise.resolve();
    this.#open();
    this.#sandbox.requireRunning();
    const { callId, script, cwd } = request;
    if (script.includes("\0")) {
      throw new ProviderError("invalid-request", "the command contains a NUL character", {
        field: "input.command",
      });
    }
    const claimed = this.#sandbox.calls.get(callId);
    if (claimed !== undefined && claimed.script !== script) {
      throw new ProviderError("conflict", `call ${callId} was claimed by another command`, {
        field: "callId",
      });
    }
    const call =
      claimed ?? new FakeCall(request, this.#sandbox.files.isDirectory(cwd) ? this.#script(request) : cwd);
    this.#sandbox.calls.set(callId, call);
    if (call.refusal !== undefined) throw call.refusal;
    if (claimed !== undefined) return { state: "attached" };
    this.#onStart();
    return { state: "started" };
  }

  async follow(callId: string, options: FollowOptions): Promise<CallEnd> {
    this.#open();
    return requireCall(this.#sandbox.calls.get(callId), callId).follow(options);
  }

  async kill(callId: string, { cause }: KillOptions): Promise<void> {
    await Promise.resolve();
    this.#open();
    this.#sandbox.calls.get(callId)?.kill(cause);
  }

  async acknowledge(callIds: readonly string[]): Promise<void> {
    await Promise.resolve();
    this.#open();
    for (const callId of callIds) {
      const call = this.#sandbox.calls.get(callId);
      if (call?.running === false) call.acknowledged = true;
    }
  }

  async calls(): Promise<CallEntry[]> {
    await Promise.resolve();
    this.#open();
    return [...this.#sandbox.calls.values()].map((call) => ({
      callId: call.callId,
      state: call.acknowledged ? "acknowledged" : call.running ? "running" : "ended",
    }));
  }

  close(): Promise<void> {
    this.closed = true;
    return Promise.resolve();
  }

  #open(): void {
    if (this.closed) throw new ProviderError("unavailable", "this channel is closed; connect again");
  }
}
