import { limits } from "../../contract/names.js";
import type { CallRecord, Ending } from "./call-book.js";
import { isFinal } from "./lifecycle.js";
import type { SessionState } from "./session-state.js";
import { answerOf } from "./views.js";

/**
 * What the parts of one run share. Handlers, and whatever an activity's end sets off, only write things down and
 * call `changed`; commands are given by the conductor and its long steps. So the order of commands depends on
 * the state, which can be tested, and not on the order in which promises happen to be continued.
 */
export interface SessionContext {
  readonly state: SessionState;
  /** Updates that wait for an answer right now. */
  readonly held: Set<HeldUpdate>;
  /** Updates accepted in this run; the server refuses the 2,001st. */
  updates: number;
  /** Set once this run has decided to end: nothing new is dispatched, held updates answer. */
  rollingOver: boolean;
  /** Changes so far; the conductor looks again when it moves. */
  changes(): number;
  changed(): void;
  now(): number;
  /** Whether somebody, or the lifetime, wants the session deleted: long steps give way to it. */
  isEndDue(): boolean;
  /** @throws Error before the placement: a defect of the caller */
  hostId(): string;
  finish(record: CallRecord, ending: Ending): void;
}

export interface HeldUpdate {
  readonly callId: string;
  readonly deadlineMs: number;
}

export function createSessionContext(state: SessionState, options: { now: () => number }): SessionContext {
  let changes = 0;
  const { now } = options;
  const changed = (): void => {
    changes += 1;
  };
  return {
    state,
    held: new Set(),
    updates: 0,
    rollingOver: false,
    changes: () => changes,
    changed,
    now,
    isEndDue() {
      const { wanted, createdAtMs, timeouts, status } = state.lifecycle;
      return wanted.delete !== undefined || isFinal(status) || now() >= createdAtMs + timeouts.maxLifetimeMs;
    },
    hostId() {
      const { placement } = state.belongings;
      if (placement === undefined) throw new Error("the session has no host yet");
      return placement.hostId;
    },
    finish(record, ending) {
      if (record.status === "done") return;
      state.calls.finish(record, ending);
      state.apply({ type: "activity" });
      state.acknowledge.push(record.callId);
      // Only room in the sandbox is at stake, so the oldest may go.
      if (state.acknowledge.length > limits.rememberedCalls) state.acknowledge.shift();
      const answer = answerOf(state.belongings.session.sessionId, record);
      for (const replyTo of record.replyTo ?? []) state.outbox.push({ replyTo, answer });
      changed();
    },
  };
}
