import { CancellationScope, sleep } from "@temporalio/workflow";

/**
 * One durable timer for all deadlines of a session, armed for the nearest. It is not moved when a deadline
 * moves away: it rings early, and is armed again for what is left. So a call costs no timer of its own.
 */
export interface Alarm {
  /** Rings at this time or before. */
  arm(deadlineMs: number): void;
}

/** A timer can't be longer than the server allows; ringing early is harmless. */
const longestMs = 30 * 24 * 3_600_000;

export function createAlarm(options: { now: () => number; onRing: () => void }): Alarm {
  let armed: { atMs: number; scope: CancellationScope } | undefined;
  return {
    arm(deadlineMs) {
      if (armed !== undefined && armed.atMs <= deadlineMs) return;
      armed?.scope.cancel();
      const waitMs = Math.min(Math.max(deadlineMs - options.now(), 1), longestMs);
      const alarm = { atMs: options.now() + waitMs, scope: new CancellationScope() };
      armed = alarm;
      void alarm.scope
        .run(() => sleep(waitMs))
        .then(
          () => {
            if (armed === alarm) armed = undefined;
            options.onRing();
          },
          // Cancelled because an earlier deadline came up.
          () => undefined,
        );
    },
  };
}
