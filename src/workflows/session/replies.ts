import { CancellationScope, getExternalWorkflowHandle } from "@temporalio/workflow";
import type { Answer, ReplyTo } from "../../contract/call.js";

/** Signals answers to whoever asked for them. A target that is gone never harms the session. */
export interface Replies {
  send(replyTo: ReplyTo, answer: Answer, onOutcome: (outcome: "delivered" | "undeliverable") => void): void;
  /** Replies whose outcome isn't known yet; the session neither ends nor rolls over before. */
  pending(): number;
}

export function createReplies(onChange: () => void): Replies {
  let pending = 0;
  return {
    send(replyTo, answer, onOutcome) {
      pending += 1;
      // A cancelled session still owes its answers.
      void CancellationScope.nonCancellable(() =>
        getExternalWorkflowHandle(replyTo.workflowId).signal(replyTo.signal, answer),
      )
        .then(
          () => "delivered" as const,
          // Closed, unknown, or this very session: recorded in the call, and the caller can still ask.
          () => "undeliverable" as const,
        )
        .then((outcome) => {
          pending -= 1;
          onOutcome(outcome);
          onChange();
        });
    },
    pending: () => pending,
  };
}
