import type { ExtendRequest } from "../../contract/messages.js";
import { defaultStopGraceMs, defaultTimeouts } from "../../contract/names.js";
import type { Failure } from "../../contract/refs.js";
import type { NetworkPolicy, ResolvedSpec } from "../../contract/spec.js";
import type { SessionStatus } from "../../contract/state.js";

/**
 * What a session is and what was asked of it, without its calls. Changes only through `transition`, which is
 * pure: the same lifecycle and event give the same lifecycle, and time comes in with the event.
 */
export interface Lifecycle {
  readonly status: SessionStatus;
  /** Number of the sandbox the session has or is getting; 0 before the first. */
  readonly generation: number;
  readonly createdAtMs: number;
  readonly lastActivityMs: number;
  readonly stoppedAtMs?: number;
  /** Set while the host doesn't answer, with the status to go back to. */
  readonly unreachable?: { readonly sinceMs: number; readonly before: SessionStatus };
  readonly timeouts: ResolvedSpec["timeouts"];
  /** What `extend` changed; it outlives the placement, which brings the spec's own values. */
  readonly extended: ExtendRequest;
  readonly onLost: ResolvedSpec["onLost"];
  readonly wanted: Wanted;
  /** Why the session failed, or why its last sandbox was given up. */
  readonly failure?: Failure;
}

/** Wishes that wait for their turn. The later of stop and resume wins; delete beats all. */
export interface Wanted {
  readonly stop?: { readonly graceMs: number; readonly cancelQueued: boolean };
  readonly resume?: true;
  readonly delete?: DeleteReason;
  readonly network?: NetworkPolicy;
}

export type DeleteReason = "requested" | "stopped-ttl" | "max-lifetime" | "workflow-cancel";

export type LifecycleEvent =
  | { type: "placed"; timeouts: ResolvedSpec["timeouts"]; onLost: ResolvedSpec["onLost"] }
  | { type: "activity" }
  | { type: "started" }
  | { type: "stopping" }
  | { type: "stopped" }
  | { type: "resuming" }
  | { type: "stop-failed" | "resume-failed"; failure: Failure }
  | { type: "network-set" }
  | { type: "unreachable" }
  | { type: "reachable" }
  /** The sandbox is gone, or with `host` the whole host: then the next generation is placed anew. */
  | { type: "lost"; failure: Failure; host?: boolean }
  | { type: "failed"; failure: Failure }
  | { type: "deleting"; reason: DeleteReason }
  | { type: "deleted" }
  | { type: "extend"; timeouts: ExtendRequest }
  | { type: "stop-wanted"; graceMs?: number; cancelQueued?: boolean }
  | { type: "resume-wanted" }
  | { type: "delete-wanted"; reason: DeleteReason }
  | { type: "network-wanted"; network: NetworkPolicy };

export function newLifecycle(nowMs: number): Lifecycle {
  return {
    status: "preparing",
    generation: 0,
    createdAtMs: nowMs,
    lastActivityMs: nowMs,
    timeouts: defaultTimeouts,
    extended: {},
    onLost: "fail",
    wanted: {},
  };
}

export function transition(now: Lifecycle, event: LifecycleEvent, nowMs: number): Lifecycle {
  if (isFinal(now.status) || (now.status === "deleting" && event.type !== "deleted")) return now;
  switch (event.type) {
    case "placed":
      return {
        ...now,
        status: "starting",
        generation: Math.max(now.generation, 1),
        timeouts: { ...event.timeouts, ...now.extended },
        onLost: event.onLost,
      };
    case "activity":
      return { ...now, lastActivityMs: nowMs };
    case "started":
      return {
        // After a loss the failure says why this is another generation; after a resume it is over.
        ...without(
          now,
          "stoppedAtMs",
          "unreachable",
          ...(now.status === "resuming" ? (["failure"] as const) : []),
        ),
        status: "running",
        lastActivityMs: nowMs,
        wanted: without(now.wanted, "resume"),
      };
    case "stopping":
      return {
        ...without(now, "unreachable"),
        status: "stopping",
        wanted: without(now.wanted, "stop"),
      };
    case "stopped":
      return { ...without(now, "unreachable", "failure"), status: "stopped", stoppedAtMs: nowMs };
    case "resuming":
      return { ...now, status: "resuming", wanted: without(now.wanted, "resume") };
    case "stop-failed":
      // The wish stays: it is tried again, and meanwhile everybody can see why.
      return {
        ...without(now, "unreachable"),
        status: "running",
        failure: event.failure,
        wanted: { stop: { graceMs: 0, cancelQueued: false }, ...now.wanted },
      };
    case "resume-failed":
      return {
        ...without(now, "unreachable"),
        status: "stopped",
        failure: event.failure,
        wanted: { ...now.wanted, resume: true },
      };
    case "network-set":
      return { ...now, wanted: without(now.wanted, "network") };
    case "unreachable":
      return {
        ...now,
        status: "unreachable",
        unreachable: now.unreachable ?? { sinceMs: nowMs, before: now.status },
      };
    case "reachable":
      return now.unreachable === undefined
        ? now
        : { ...without(now, "unreachable"), status: now.unreachable.before };
    case "lost":
      if (now.onLost === "fail") return { ...now, status: "failed", failure: event.failure };
      return {
        ...without(now, "stoppedAtMs", "unreachable"),
        status: event.host === true ? "preparing" : "starting",
        generation: now.generation + 1,
        failure: event.failure,
      };
    case "failed":
      return { ...now, status: "failed", failure: event.failure };
    case "deleting":
      return { ...now, status: "deleting", wanted: { delete: event.reason } };
    case "deleted":
      return { ...now, status: "deleted" };
    case "extend":
      return {
        ...now,
        timeouts: { ...now.timeouts, ...event.timeouts },
        extended: { ...now.extended, ...event.timeouts },
      };
    case "stop-wanted":
      // A stopped or stopping session has nothing to stop: only a resume that waits is taken back.
      return {
        ...now,
        wanted: {
          ...without(now.wanted, "resume"),
          ...(now.status === "stopped" || now.status === "stopping"
            ? {}
            : {
                stop: {
                  graceMs: event.graceMs ?? defaultStopGraceMs,
                  cancelQueued: event.cancelQueued ?? false,
                },
              }),
        },
      };
    case "resume-wanted":
      return {
        ...now,
        lastActivityMs: nowMs,
        wanted: {
          ...without(now.wanted, "stop"),
          ...(now.status === "stopped" || now.status === "stopping" ? { resume: true as const } : {}),
        },
      };
    case "delete-wanted":
      return now.wanted.delete === undefined
        ? { ...now, wanted: { ...now.wanted, delete: event.reason } }
        : now;
    case "network-wanted":
      return { ...now, wanted: { ...now.wanted, network: event.network } };
  }
}

export const isFinal = (status: SessionStatus): boolean => status === "deleted" || status === "failed";

function without<T extends object, K extends keyof T>(value: T, ...keys: K[]): Omit<T, K> {
  const rest = { ...value };
  for (const key of keys) Reflect.deleteProperty(rest, key);
  return rest;
}
