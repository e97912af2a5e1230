import type { Handle } from "../../contract/sandbox.js";
import type { CancelledBy } from "../../contract/call.js";
import { failureOf } from "./failures.js";
import { control } from "./proxies.js";
import type { SessionContext } from "./session-context.js";

/** Ends calls inside the sandbox. Driven by the conductor. */
export interface Killer {
  /** Kills what is to be ended and due; returns when to be called again at the latest. */
  kill(): number;
}

/** Between two attempts at one call: the first may have met a call that was not claimed yet. */
const pausesMs = [1_000, 2_000, 5_000, 15_000, 30_000];

/** The control queue is never starved, so a kill that takes longer has met a silent host. */
const killMs = 20_000;

interface Attempts {
  count: number;
  inFlight: boolean;
  nextAtMs: number;
}

export function createKiller(context: SessionContext): Killer {
  const { state } = context;
  const attempts = new Map<string, Attempts>();

  return {
    kill() {
      const { handle } = state.belongings;
      if (handle === undefined) return Infinity;
      for (const callId of state.strayKills.splice(0)) killStray(handle, callId);
      const running = state.calls.running();
      for (const callId of attempts.keys()) {
        if (!running.some((record) => record.callId === callId)) attempts.delete(callId);
      }
      let nextAtMs = Infinity;
      for (const record of running) {
        if (record.cancelledBy === undefined || record.generation !== handle.generation.number) continue;
        const attempt = attempts.get(record.callId) ?? { count: 0, inFlight: false, nextAtMs: 0 };
        attempts.set(record.callId, attempt);
        if (!attempt.inFlight && attempt.nextAtMs <= context.now()) {
          again(handle, { callId: record.callId, by: record.cancelledBy }, attempt);
        }
        if (!attempt.inFlight) nextAtMs = Math.min(nextAtMs, attempt.nextAtMs);
      }
      return nextAtMs;
    },
  };

  function again(handle: Handle, call: { callId: string; by: CancelledBy }, attempt: Attempts): void {
    attempt.inFlight = true;
    void send(handle, call)
      // Tried again below; a host that is gone is noticed by whoever follows the call.
      .catch((error: unknown) => failureOf(error))
      .then(() => {
        attempt.inFlight = false;
        attempt.nextAtMs = context.now() + (pausesMs[Math.min(attempt.count, pausesMs.length - 1)] ?? 0);
        attempt.count += 1;
        context.changed();
      });
  }

  /** A claim that no history knows. */
  function killStray(handle: Handle, callId: string): void {
    void send(handle, { callId, by: "cancelCall" }).catch((error: unknown) => {
      state.reject(failureOf(error));
    });
  }

  function send(handle: Handle, call: { callId: string; by: CancelledBy }): Promise<void> {
    return control(handle.hostId, { scheduleToCloseMs: killMs }).killCall.executeWithOptions(
      { summary: `kill ${call.callId}` },
      [{ handle, ...call }],
    );
  }
}
