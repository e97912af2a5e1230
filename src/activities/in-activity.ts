import { Context } from "@temporalio/activity";
import { ApplicationFailure, CancelledFailure } from "@temporalio/common";
import type { OperationContext } from "../providers/provider.js";
import { translateFailure, type RetryRule } from "./translate-failure.js";

/** Heartbeats come from a timer and not from progress: a silent `sleep 600` is alive too. */
const heartbeatMs = 1_000;

export interface ActivityScope extends OperationContext {
  /** What the next heartbeats carry; small, and never a secret. */
  report(details: unknown): void;
}

/**
 * Runs the body of an activity: heartbeats, cancellation as an AbortSignal, one translation of failures. A
 * worker that shuts down is no cancellation: its activities fail retryably and another worker goes on.
 */
export async function inActivity<T>(
  rule: Omit<RetryRule, "attempt">,
  body: (scope: ActivityScope) => Promise<T>,
): Promise<T> {
  const context = Context.current();
  let details: unknown;
  const beat = (): void => {
    context.heartbeat(details);
  };
  const timer = setInterval(beat, heartbeatMs);
  // The first one at once: a cancellation is heard with a heartbeat only.
  beat();
  try {
    return await body({
      signal: context.cancellationSignal,
      onProgress: (message) => {
        details = { progress: message };
      },
      report: (value) => {
        details = value;
      },
    });
  } catch (error) {
    if (context.cancellationSignal.aborted) throw interrupted(context);
    throw translateFailure(error, { attempt: context.info.attempt, ...rule });
  } finally {
    clearInterval(timer);
  }
}

function interrupted(context: Context): Error {
  if (context.cancellationDetails?.cancelRequested === true) return new CancelledFailure("CANCELLED");
  // Shut down, timed out, or not wanted any more: none of them is the user's cancel.
  const reason: unknown = context.cancellationSignal.reason;
  const message = reason instanceof Error ? reason.message : String(reason);
  return ApplicationFailure.retryable(`this worker stopped (${message}); another goes on`, "unavailable");
}
