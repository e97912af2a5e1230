import type { Placement } from "../../contract/activities.js";
import type { Answer, ReplyTo } from "../../contract/call.js";
import type { Failure } from "../../contract/refs.js";
import type { Artifact, Handle, SessionIdentity } from "../../contract/sandbox.js";
import type { NetworkPolicy, SessionSpec } from "../../contract/spec.js";
import type { BackgroundProcess } from "../../contract/state.js";
import { limits } from "../../contract/names.js";
import { createCallBook, type CallBook, type CarriedCalls } from "./call-book.js";
import { jsonBytes } from "./json-size.js";
import { newLifecycle, transition, type Lifecycle, type LifecycleEvent } from "./lifecycle.js";

/** What a session was given and owns, beside its lifecycle and its calls. */
export interface Belongings {
  readonly session: SessionIdentity;
  /** As the user sent it; checked only at placement. */
  readonly spec: SessionSpec;
  placement?: Placement;
  artifact?: Artifact;
  handle?: Handle;
  /** What setNetworkPolicy has set; a new generation starts with it. */
  network?: NetworkPolicy;
  /** Set when a lost host may still hold a sandbox of this session: its reaper removes it. */
  isLeftBehind?: true;
  background: readonly BackgroundProcess[];
}

/** What one run hands to the next at roll-over; within `limits.carriedBytes`. */
export interface CarriedSession {
  readonly version: 1;
  readonly lifecycle: Lifecycle;
  /** Without the spec, which the next run gets as its first argument. */
  readonly belongings: Omit<Belongings, "spec">;
  readonly calls: CarriedCalls;
  readonly rejected: readonly Failure[];
  readonly acknowledge: readonly string[];
  readonly outbox: readonly Reply[];
  readonly strayKills: readonly string[];
}

/** An answer on its way to the workflow that asked by `replyTo`. */
export interface Reply {
  readonly replyTo: ReplyTo;
  readonly answer: Answer;
}

/** All of a session that is worth carrying, and the one place where it changes. */
export interface SessionState {
  lifecycle: Lifecycle;
  readonly belongings: Belongings;
  readonly calls: CallBook;
  readonly rejected: Failure[];
  /** Calls whose end the sandbox hasn't been told to forget yet. */
  acknowledge: string[];
  /** Answers to signal, in order. */
  readonly outbox: Reply[];
  /** Ids that nobody here knows and somebody wants ended: the sandbox may know them. */
  readonly strayKills: string[];
  apply(event: LifecycleEvent): void;
  reject(failure: Failure): void;
  carry(): CarriedSession;
}

export function createSessionState(options: {
  session: SessionIdentity;
  spec: SessionSpec;
  carried: CarriedSession | undefined;
  now: () => number;
}): SessionState {
  const { carried, now } = options;
  const state: SessionState = {
    lifecycle: carried?.lifecycle ?? newLifecycle(now()),
    belongings: { session: options.session, background: [], ...carried?.belongings, spec: options.spec },
    calls: createCallBook(carried?.calls),
    rejected: [...(carried?.rejected ?? [])],
    acknowledge: [...(carried?.acknowledge ?? [])],
    outbox: [...(carried?.outbox ?? [])],
    strayKills: [...(carried?.strayKills ?? [])],
    apply(event) {
      state.lifecycle = transition(state.lifecycle, event, now());
    },
    reject(failure) {
      state.rejected.push(failure);
      if (state.rejected.length > limits.rejectedKept) state.rejected.shift();
    },
    carry() {
      state.calls.trim(() => false);
      const carriedState: CarriedSession = {
        version: 1,
        lifecycle: state.lifecycle,
        belongings: withoutSpec(state.belongings),
        calls: state.calls.carry(),
        rejected: state.rejected,
        acknowledge: state.acknowledge,
        outbox: state.outbox,
        strayKills: state.strayKills,
      };
      return withinLimit(carriedState);
    },
  };
  return state;
}

function withoutSpec(belongings: Belongings): Omit<Belongings, "spec"> {
  const rest: Partial<Belongings> & Omit<Belongings, "spec"> = { ...belongings };
  Reflect.deleteProperty(rest, "spec");
  return rest;
}

/**
 * Above the limit the next run could not start, and this one could not end: so the oldest done records go
 * first. Their ids stay refused by the sandbox, which keeps a tombstone for each.
 */
function withinLimit(carried: CarriedSession): CarriedSession {
  let excess = jsonBytes(carried) - limits.carriedBytes;
  if (excess <= 0) return carried;
  const records = carried.calls.records.filter((record) => {
    if (excess <= 0 || record.status !== "done") return true;
    excess -= jsonBytes(record);
    return false;
  });
  return { ...carried, calls: { ...carried.calls, records } };
}
