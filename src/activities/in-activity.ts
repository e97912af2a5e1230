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

export interface ActivityRule extends Omit<RetryRule, "attempt"> {
  /**
   * Of an activity that undoes its work when its signal aborts. Then only the workflow's cancel aborts it: after a
   * shutdown or a timeout the next attempt may have adopted the work, and must not lose it.
   */
  readonly undoes?: true;
}

/**
 * Runs the body of an activity: heartbeats, cancellation as an AbortSignal, one translation of failures. A
 * worker that shuts down is no cancellation: its activities fail retryably and another worker goes on.
 */
export async function inActivity<T>(
  { undoes, ...rule }: ActivityRule,
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
  const signal = undoes === true ? onlyCancel(context) : context.cancellationSignal;
  try {
    const work = body({
      signal,
      onProgress: (message) => {
        details = { progress: message };
      },
      report: (value) => {
        details = value;
      },
    });
    return await (undoes === true ? unlessLeft(work, context) : work);
  } catch (error) {
    if (context.cancellationSignal.aborted) throw interrupted(context);
    throw translateFailure(error, { attempt: context.info.attempt, ...rule });
  } finally {
    clearInterval(timer);
  }
}

/** Aborts when the workflow cancels, and not when this worker ends or the attempt has timed out. */
function onlyCancel(context: Context): AbortSignal {
  const controller = new AbortController();
  context.cancellationSignal.addEventListener("abort", () => {
    if (isCancelled(context)) controller.abort(context.cancellationSignal.reason);
  });
  return controller.signal;
}

/** Waits for the work, but not when the attempt is over without a cancel: the next one finds what it made. */
async function unlessLeft<T>(work: Promise<T>, context: Context): Promise<T> {
  const left = new Promise<never>((_, reject) => {
    context.cancellationSignal.addEventListener("abort", () => {
      if (!isCancelled(context)) reject(interrupted(context));
    });
  });
  return Promise.race([work, left]);
}

const isCancelled = (context: Context): boolean => context.cancellationDetails?.cancelRequested === true;

function interrupted(context: Context): Error {
  if (isCancelled(context)) return new CancelledFailure("CANCELLED");
  // Shut down, timed out, or not wanted any more: none of them is the user's cancel.
  const reason: unknown = context.cancellationSignal.reason;
  const message = reason instanceof Error ? reason.message : String(reason);
  return ApplicationFailure.retryable(`this worker stopped (${message}); another goes on`, "unavailable");
}
