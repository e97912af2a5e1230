import { limits } from "../../contract/names.js";
import type { CallRecord, Ending } from "./call-book.js";
import { isFinal } from "./lifecycle.js";
import type { SessionState } from "./session-state.js";
import { answerOf } from "./views.js";

/**
 * What the parts of one run share. The rule that keeps replay exact: handlers and whatever an activity's end
 * sets off only write things down and call `changed`; commands are given by the conductor alone, and never
 * while a batch is on the fast path. For on replay the end of a local activity may come in one activation
 * with messages that came in another one before, and only a state that is looked at afterwards is the same.
 */
export interface SessionContext {
  readonly state: SessionState;
  /** Updates that wait for an answer right now. */
  readonly held: Set<HeldUpdate>;
  /** A batch of calls is on the fast path; everything waits for it, it is short. */
  isTrying: boolean;
  /** Updates accepted in this run; the server refuses the 2,001st. */
  updates: number;
  /** Set once this run has decided to end: nothing new is dispatched, held updates answer. */
  rollingOver: boolean;
  /** Changes so far; the conductor looks again when it moves. */
  changes(): number;
  changed(): void;
  now(): number;
  /** Resolves when the conductor lets this flow give commands. */
  turn(): Promise<void>;
  /** For the conductor: lets all go on that asked for their turn, in order. */
  giveTurns(): void;
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

export function createSessionContext(
  state: SessionState,
  options: { now: () => number; historyLength: () => number },
): SessionContext {
  let changes = 0;
  let turns: (() => void)[] = [];
  const { now } = options;
  const changed = (): void => {
    changes += 1;
  };
  return {
    state,
    held: new Set(),
    isTrying: false,
    updates: 0,
    rollingOver: false,
    changes: () => changes,
    changed,
    now,
    turn: () =>
      new Promise((resolve) => {
        turns.push(resolve);
        changed();
      }),
    giveTurns() {
      const due = turns;
      turns = [];
      for (const go of due) go();
    },
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
      state.acknowledge.push({ callId: record.callId, endedAtEvent: options.historyLength() });
      // Only room in the sandbox is at stake, so the oldest may go.
      if (state.acknowledge.length > limits.rememberedCalls) state.acknowledge.shift();
      if (record.replyTo !== undefined) {
        const answer = answerOf(state.belongings.session.sessionId, record);
        state.outbox.push({ replyTo: record.replyTo, answer });
      }
      changed();
    },
  };
}
