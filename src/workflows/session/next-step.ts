import type { DeleteReason, Lifecycle } from "./lifecycle.js";

/** What the calls of a session ask of it. */
export interface Load {
  readonly queued: number;
  readonly running: number;
}

export type Step =
  | { do: "place" }
  | { do: "start" }
  | { do: "resume" }
  | { do: "stop"; graceMs: number; cancelQueued: boolean }
  | { do: "set-network" }
  /** So many of the queued calls, oldest first. */
  | { do: "dispatch"; calls: number }
  | { do: "delete"; reason: DeleteReason }
  | { do: "end" }
  /** Nothing to do before this time, unless a message comes. */
  | { do: "wait"; untilMs: number };

/**
 * What to do next. Pure, and the only place that decides it: delete, then the lifetime, then what the state
 * asks for. A clock that runs backwards only makes things happen later.
 */
export function nextStep(
  lifecycle: Lifecycle,
  load: Load,
  context: { nowMs: number; maxConcurrentCalls: number },
): Step {
  const { status, wanted, timeouts } = lifecycle;
  if (status === "deleted" || status === "failed") return { do: "end" };
  if (wanted.delete !== undefined) return { do: "delete", reason: wanted.delete };
  const endsAtMs = lifecycle.createdAtMs + timeouts.maxLifetimeMs;
  if (context.nowMs >= endsAtMs) return { do: "delete", reason: "max-lifetime" };

  switch (status) {
    case "preparing":
      return { do: "place" };
    case "starting":
      return { do: "start" };
    case "resuming":
      return { do: "resume" };
    case "stopped": {
      if (wanted.resume === true || load.queued > 0) return { do: "resume" };
      const deleteAtMs = stoppedDeadlineMs(lifecycle) ?? endsAtMs;
      if (context.nowMs >= deleteAtMs) return { do: "delete", reason: "stopped-ttl" };
      return { do: "wait", untilMs: Math.min(endsAtMs, deleteAtMs) };
    }
    case "stopping":
      // Reached when a run begins in the middle of a stop: go on with it. Its grace is over by now.
      return { do: "stop", graceMs: 0, cancelQueued: false };
    case "deleting":
      return { do: "delete", reason: "requested" };
    case "unreachable":
      if (wanted.stop !== undefined) return { do: "stop", ...wanted.stop };
      // The calls being followed ask for the host again and again, and the first answer ends this state.
      if (load.running > 0) return { do: "wait", untilMs: endsAtMs };
      // With none running, a queued one is sent to find out, or the idle stop does.
      return nextStep({ ...lifecycle, status: lifecycle.unreachable?.before ?? "running" }, load, {
        ...context,
        maxConcurrentCalls: 1,
      });
    case "running": {
      if (wanted.stop !== undefined) return { do: "stop", ...wanted.stop };
      if (wanted.network !== undefined) return { do: "set-network" };
      const free = context.maxConcurrentCalls - load.running;
      if (load.queued > 0 && free > 0) return { do: "dispatch", calls: free };
      if (load.queued > 0 || load.running > 0) return { do: "wait", untilMs: endsAtMs };
      const idleAtMs = idleDeadlineMs(lifecycle);
      if (context.nowMs >= idleAtMs) return { do: "stop", graceMs: 0, cancelQueued: false };
      return { do: "wait", untilMs: Math.min(endsAtMs, idleAtMs) };
    }
  }
}

/** A running command is activity, so this counts only while none runs. */
export const idleDeadlineMs = (lifecycle: Lifecycle): number =>
  lifecycle.lastActivityMs + lifecycle.timeouts.idleMs;

export const stoppedDeadlineMs = (lifecycle: Lifecycle): number | undefined =>
  lifecycle.stoppedAtMs === undefined ? undefined : lifecycle.stoppedAtMs + lifecycle.timeouts.stoppedTtlMs;
