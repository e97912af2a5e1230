import { ApplicationFailure, CancelledFailure } from "@temporalio/common";
import type { FailureCode } from "../contract/refs.js";
import { ProviderError } from "../providers/errors.js";

/** Infrastructure that may be back in a moment. Everything else is the same on the next attempt. */
const worthRetrying: readonly FailureCode[] = ["unavailable", "busy", "internal"];

/** A bug gets some attempts, because not everything unexpected is one; then it is told. */
const internalAttempts = 5;

export interface RetryRule {
  /** Of the activity, from 1. */
  readonly attempt: number;
  /** From this attempt on nothing is tried again: for steps that somebody waits for. */
  readonly finalAttempt?: number;
  /** Codes that are worth another attempt here, beside the usual. */
  readonly alsoRetry?: readonly FailureCode[];
}

/**
 * The one place that makes a Temporal failure of whatever an activity met: `type` is the code, the details hold
 * the whole failure, and it decides what is tried again.
 */
export function translateFailure(error: unknown, rule: RetryRule): Error {
  if (error instanceof ApplicationFailure || error instanceof CancelledFailure) return error;
  const { attempt, finalAttempt = Number.MAX_SAFE_INTEGER, alsoRetry = [] } = rule;
  const failure =
    error instanceof ProviderError
      ? error.toFailure()
      : new ProviderError("internal", error instanceof Error ? error.message : String(error)).toFailure();
  const isLast = attempt >= finalAttempt || (failure.code === "internal" && attempt >= internalAttempts);
  const isWorthIt = worthRetrying.includes(failure.code) || alsoRetry.includes(failure.code);
  return ApplicationFailure.create({
    type: failure.code,
    message: failure.message,
    details: [failure],
    nonRetryable: isLast || !isWorthIt,
  });
}
