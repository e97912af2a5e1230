import {
  ActivityFailure,
  ApplicationFailure,
  CancelledFailure,
  TimeoutFailure,
  rootCause,
} from "@temporalio/common";
import { failureCodes } from "../../contract/names.js";
import type { Failure } from "../../contract/refs.js";

/** The failure that an activity's error carries: its `type` is the code, its details hold the whole. */
export function failureOf(error: unknown): Failure {
  const cause = error instanceof ActivityFailure ? error.cause : error;
  if (cause instanceof ApplicationFailure) {
    const detail = cause.details?.[0];
    if (isFailure(detail)) return detail;
    return { code: "internal", message: cause.message };
  }
  if (cause instanceof TimeoutFailure) {
    // Time ran out over retries: what the last attempt met says more than the clock.
    if (cause.cause instanceof ApplicationFailure) return failureOf(cause.cause);
    return {
      code: "unavailable",
      message: `no answer from the host in time (${cause.timeoutType})`,
      hint: "Look at the worker of this host; the next attempt goes on where this one ended.",
    };
  }
  return { code: "internal", message: rootCause(error) ?? String(error) };
}

/** The failure as the error of a workflow or of an update. */
export function toApplicationFailure(failure: Failure): ApplicationFailure {
  return ApplicationFailure.create({
    type: failure.code,
    message: failure.message,
    details: [failure],
    nonRetryable: true,
  });
}

/** Whether nobody took the task from the host's queue: the host may be busy, down, or lost. */
export function isHostSilence(error: unknown): boolean {
  return (
    error instanceof ActivityFailure &&
    error.cause instanceof TimeoutFailure &&
    error.cause.timeoutType === "SCHEDULE_TO_START"
  );
}

export function isCancelled(error: unknown): boolean {
  return (
    error instanceof CancelledFailure ||
    (error instanceof ActivityFailure && error.cause instanceof CancelledFailure)
  );
}

function isFailure(value: unknown): value is Failure {
  if (typeof value !== "object" || value === null) return false;
  const { code, message } = value as Partial<Failure>;
  return typeof message === "string" && (failureCodes as readonly unknown[]).includes(code);
}
