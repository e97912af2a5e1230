import { allHandlersFinished, workflowInfo } from "@temporalio/workflow";
import { createAlarm, type Alarm } from "./alarm.js";
import type { CallRecord, Ending } from "./call-book.js";
import { isFinal } from "./lifecycle.js";
import { createReplies, type Replies } from "./replies.js";
import type { SessionState } from "./session-state.js";
import { answerOf } from "./views.js";

/** What the parts of one run share: the state, the clock, and the ways to wake and to answer each other. */
export interface SessionContext {
  readonly state: SessionState;
  readonly alarm: Alarm;
  readonly replies: Replies;
  /** Calls whose answer an update waits for right now. */
  readonly awaited: Map<string, number>;
  /** A batch of calls is on the fast path; a roll-over and the next batch wait for it, it is short. */
  isTrying: boolean;
  /** Updates accepted in this run; the server refuses the 2,001st. */
  updates: number;
  /** Set once this run has decided to end: nothing new is dispatched, held updates answer. */
  rollingOver: boolean;
  /** Changes so far; the main loop looks again when it moves. */
  changes(): number;
  changed(): void;
  now(): number;
  /** Whether somebody, or the lifetime, wants the session deleted: long steps give way to it. */
  isEndDue(): boolean;
  hostId(): string;
  finish(record: CallRecord, ending: Ending): void;
  isQuiet(): boolean;
}

export function createSessionContext(state: SessionState): SessionContext {
  let changes = 0;
  const changed = (): void => {
    changes += 1;
  };
  // Inside workflow code this is Temporal's clock: the time of the current task, the same in a replay.
  const now = (): number => Date.now();
  const context: SessionContext = {
    state,
    alarm: createAlarm({ now, onRing: changed }),
    replies: createReplies(changed),
    awaited: new Map(),
    isTrying: false,
    updates: 0,
    rollingOver: false,
    changes: () => changes,
    changed,
    now,
    isEndDue: () => {
      const { wanted, createdAtMs, timeouts, status } = state.lifecycle;
      return wanted.delete !== undefined || isFinal(status) || now() >= createdAtMs + timeouts.maxLifetimeMs;
    },
    hostId: () => {
      const { placement } = state.belongings;
      if (placement === undefined) throw new Error("the session has no host yet");
      return placement.hostId;
    },
    finish(record, ending) {
      if (record.status === "done") return;
      state.calls.finish(record, ending);
      state.apply({ type: "activity" });
      state.acknowledge.push({ callId: record.callId, endedAtEvent: workflowInfo().historyLength });
      const { replyTo } = record;
      if (replyTo !== undefined) {
        replies(record, replyTo);
      }
      changed();
    },
    isQuiet: () => allHandlersFinished() && !context.isTrying && context.replies.pending() === 0,
  };

  function replies(record: CallRecord, replyTo: NonNullable<CallRecord["replyTo"]>): void {
    const answer = answerOf(state.belongings.session.sessionId, record);
    context.replies.send(replyTo, answer, (outcome) => {
      record.reply = outcome;
    });
  }
  return context;
}
