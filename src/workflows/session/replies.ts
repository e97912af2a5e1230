import { getExternalWorkflowHandle } from "@temporalio/workflow";
import type { SessionContext } from "./session-context.js";

/** Signals answers to whoever asked for them. A target that is gone never harms the session. */
export interface Replies {
  /** For the conductor: sends all that is in the outbox. */
  send(): void;
  /** Whether all is sent and its outcome known; the session neither ends nor rolls over before. */
  areSettled(): boolean;
}

export function createReplies(context: SessionContext): Replies {
  const { state } = context;
  let pending = 0;
  return {
    send() {
      for (const { replyTo, answer } of state.outbox.splice(0)) {
        pending += 1;
        void getExternalWorkflowHandle(replyTo.workflowId)
          .signal(replyTo.signal, answer)
          .then(
            () => "delivered" as const,
            // Closed, unknown, or this very session: recorded in the call, and the caller can still ask.
            () => "undeliverable" as const,
          )
          .then((outcome) => {
            pending -= 1;
            const record = state.calls.get(answer.callId);
            if (record !== undefined && answer.status === "done") record.reply = outcome;
            context.changed();
          });
      }
    },
    areSettled: () => pending === 0 && state.outbox.length === 0,
  };
}
