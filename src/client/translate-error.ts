import {
  isGrpcServiceError,
  QueryNotRegisteredError,
  ServiceError,
  WorkflowExecutionAlreadyStartedError,
  WorkflowFailedError,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
} from "@temporalio/client";
import {
  ApplicationFailure,
  CancelledFailure,
  NamespaceNotFoundError,
  TerminatedFailure,
} from "@temporalio/common";
import { failureSchema } from "../contract/refs.js";
import { HoldfastError } from "./holdfast-error.js";

/** What was asked of whom, for the message. */
export interface Asked {
  /** E.g. `start session s1`. */
  readonly what: string;
  readonly address: string;
  readonly namespace: string;
}

/** gRPC's status codes that mean something to us; the package's enum would be one more dependency. */
export const grpcCode = {
  /** What a deadline becomes when it passes between two tries. */
  cancelled: 1,
  deadlineExceeded: 4,
  permissionDenied: 7,
  resourceExhausted: 8,
  failedPrecondition: 9,
  aborted: 10,
  unavailable: 14,
  unauthenticated: 16,
} as const;

/** The one translation of everything that Temporal's client throws. */
export function translateError(error: unknown, asked: Asked): HoldfastError {
  if (error instanceof HoldfastError) return error;
  const failure = failureInside(error);
  if (failure !== undefined) return HoldfastError.from(failure, error);
  const fail = (code: HoldfastError["code"], happened: string, hint: string): HoldfastError =>
    new HoldfastError(code, `Can't ${asked.what}: ${happened}`, { hint, cause: error });

  if (error instanceof NamespaceNotFoundError || grpcDetails(error).includes("Namespace ")) {
    return fail(
      "not-found",
      `namespace ${asked.namespace} not found on ${asked.address}`,
      "Set TEMPORAL_NAMESPACE (or --namespace) to one that exists there, or create it: " +
        `temporal operator namespace create --address ${asked.address} --namespace ${asked.namespace}`,
    );
  }
  if (error instanceof WorkflowExecutionAlreadyStartedError) {
    return fail(
      "conflict",
      "a session with this id is open",
      "Use it, delete it first, or choose another id.",
    );
  }
  if (error instanceof WorkflowNotFoundError) {
    return fail("not-found", "there is no such session", "`holdfast session list` shows the ids that exist.");
  }
  if (error instanceof WorkflowFailedError)
    return fail("closed", howItEnded(error.cause), "Start a new session.");
  if (isSilence(error)) {
    return fail("unavailable", `no answer from ${asked.address} in time`, workerHint);
  }
  switch (grpcStatus(error)) {
    case grpcCode.unavailable:
      return noServer(asked.address, error);
    case grpcCode.permissionDenied:
    case grpcCode.unauthenticated:
      return fail(
        "denied",
        `the Temporal server on ${asked.address} refuses us (${grpcDetails(error)})`,
        "Check TEMPORAL_API_KEY, TEMPORAL_TLS_* and the namespace.",
      );
    case grpcCode.failedPrecondition:
      return fail("unavailable", grpcDetails(error), workerHint);
    case grpcCode.resourceExhausted:
      return fail("busy", grpcDetails(error), "Try again, with fewer requests at once.");
  }
  if (error instanceof QueryNotRegisteredError) {
    return fail("unsupported", error.message, "Its worker is of another release: upgrade the older one.");
  }
  const said = error instanceof Error ? (error.cause ?? error) : error;
  return fail("internal", said instanceof Error ? said.message : String(said), "Look at the worker's log.");
}

export function noServer(address: string, cause: unknown): HoldfastError {
  return new HoldfastError("unavailable", `No Temporal server answers on ${address}.`, {
    hint: "Start one (`holdfast dev`), or name a running one by TEMPORAL_ADDRESS or --address.",
    cause,
  });
}

const workerHint =
  "Is a worker running (`holdfast worker`, `holdfast dev`)? Nothing is lost: ask again when it is back.";

/** A failure of the contract: details of an ApplicationFailure, or an error of the artifact store. */
function failureInside(error: unknown): ReturnType<typeof failureSchema.parse> | undefined {
  if (error instanceof WorkflowUpdateFailedError || error instanceof WorkflowFailedError) {
    return failureInside(error.cause);
  }
  const candidate = error instanceof ApplicationFailure ? (error.details?.[0] ?? {}) : error;
  if (typeof candidate !== "object" || candidate === null) return undefined;
  const parsed = failureSchema.safeParse(candidate);
  return parsed.success ? parsed.data : undefined;
}

/** What an error means for a request that may be sent again under its callId. */
export type Verdict =
  /** The session's run has ended: only a stored answer can be had. */
  | "gone"
  /** Nobody said no, nobody said yes: the same request with the same callId is the way to find out. */
  | "transient"
  /** The session has no room now. */
  | "busy"
  | "final";

/** Of what was thrown, before it is translated: the translation is for people, and hides what happened. */
export function verdictOf(error: unknown): Verdict {
  if (isGone(error)) return "gone";
  if (isTransient(error)) return "transient";
  return failureInside(error)?.code === "busy" ? "busy" : "final";
}

/** An update that its run did not live to finish: deleted, expired, or rolled over under it. */
function isGone(error: unknown): boolean {
  return (
    error instanceof WorkflowNotFoundError ||
    (error instanceof WorkflowUpdateFailedError &&
      error.cause instanceof ApplicationFailure &&
      error.cause.type === "AcceptedUpdateCompletedWorkflow")
  );
}

export function isTransient(error: unknown): boolean {
  const retried: readonly number[] = [
    grpcCode.unavailable,
    grpcCode.resourceExhausted,
    // An update that met a roll-over.
    grpcCode.failedPrecondition,
    grpcCode.aborted,
  ];
  return isSilence(error) || retried.includes(grpcStatus(error) ?? -1);
}

function isSilence(error: unknown): boolean {
  return (
    error instanceof WorkflowUpdateRPCTimeoutOrCancelledError ||
    grpcStatus(error) === grpcCode.deadlineExceeded ||
    grpcStatus(error) === grpcCode.cancelled
  );
}

export function grpcStatus(error: unknown): number | undefined {
  const cause = error instanceof ServiceError ? error.cause : error;
  return isGrpcServiceError(cause) ? cause.code : undefined;
}

function grpcDetails(error: unknown): string {
  const cause = error instanceof ServiceError || error instanceof WorkflowNotFoundError ? error.cause : error;
  return isGrpcServiceError(cause)
    ? cause.details
    : error instanceof WorkflowNotFoundError
      ? error.message
      : "";
}

function howItEnded(cause: Error | undefined): string {
  if (cause instanceof TerminatedFailure) return "it was terminated; its sandbox is left to the reaper";
  if (cause instanceof CancelledFailure) return "it was cancelled and its sandbox deleted";
  return `it failed: ${cause?.message ?? "no reason given"}`;
}
