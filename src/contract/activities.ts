import type { CallRequest, CancelledBy, Outcome } from "./call.js";
import type { ArtifactRef, Failure } from "./refs.js";
import type { Artifact, Capabilities, Handle, SessionIdentity } from "./sandbox.js";
import type { NetworkPolicy, ResolvedSpec, SessionSpec } from "./spec.js";
import type { BackgroundProcess } from "./state.js";

/** Shared queue. Any worker may take these. */
export interface SharedActivities {
  /**
   * Checks the spec and puts the session on the answering worker's host. Refuses (retryable `busy`) when
   * this host lacks the provider, the capacity, or is not the pinned one; the next worker answers.
   */
  placeSession(input: PlaceInput): Promise<Placement>;
  /** Whether a worker of the host was seen lately: a busy host is not a lost one. */
  describeHost(input: { hostId: string }): Promise<{ lastSeenMs: number | null }>;
}

export interface PlaceInput {
  readonly session: SessionIdentity;
  /** As the user sent it: anything at all. */
  readonly spec: SessionSpec;
}

export interface Placement {
  readonly hostId: string;
  readonly spec: ResolvedSpec;
  readonly capabilities: Capabilities;
  /** Thresholds of this worker for rolling over; recorded in history, so replay sees the same. */
  readonly rollOver: RollOverThresholds;
}

export interface RollOverThresholds {
  readonly updates: number;
  /** Events in history; the server's own suggestion applies besides. */
  readonly historyEvents: number;
}

/** Host queue. Heartbeating; cancellation and worker shutdown only end the following, never the command. */
export interface HostActivities {
  prepareTemplate(input: PrepareInput): Promise<Artifact>;
  startSandbox(input: StartInput): Promise<StartResult>;
  resumeSandbox(input: { handle: Handle; spec: ResolvedSpec }): Promise<Handle>;
  /** Claims and starts the call, or attaches to it, and returns when it ended. */
  followCall(input: CallDispatch): Promise<CallEnding>;
}

/** Control queue: short, never starved by running commands. */
export interface ControlActivities {
  /** TERM, grace, KILL; resolves when nothing of the call is left. An unknown id is fine. */
  killCall(input: { handle: Handle; callId: string; by: CancelledBy }): Promise<void>;
  stopSandbox(input: { handle: Handle; graceMs: number; acknowledged: string[] }): Promise<void>;
  /** Removes every sandbox of this session up to a generation, also one whose create lands late. */
  removeSandbox(input: RemoveInput): Promise<void>;
  setNetworkPolicy(input: { handle: Handle; network: NetworkPolicy }): Promise<Handle>;
}

export interface PrepareInput {
  readonly session: SessionIdentity;
  readonly spec: ResolvedSpec;
}

export interface StartInput {
  readonly session: SessionIdentity;
  readonly spec: ResolvedSpec;
  readonly generation: number;
  /** What an earlier prepare returned. Without it the host looks for the template by its key. */
  readonly artifact?: Artifact;
}

/** A missing template is no failure: it is how a cold start begins. */
export type StartResult =
  | { readonly status: "started"; readonly handle: Handle }
  | { readonly status: "template-not-provisioned"; readonly failure: Failure };

export interface RemoveInput {
  readonly session: SessionIdentity;
  readonly provider: ResolvedSpec["provider"];
  readonly upToGeneration: number;
  readonly handle?: Handle;
}

export interface CallDispatch {
  readonly handle: Handle;
  readonly call: Pick<CallRequest, "callId" | "tool" | "input" | "timeoutMs">;
  readonly env: Readonly<Record<string, string>>;
  readonly secrets: ResolvedSpec["secrets"];
  readonly workspace: string;
  readonly outputBytes: number;
  /** Calls whose answers are durable by now: their spool entries may go. */
  readonly acknowledged: readonly string[];
}

export interface CallEnding {
  readonly outcome: Outcome;
  /** Result of the tool, within `limits.answerBytes` when encoded. */
  readonly result?: Record<string, unknown>;
  /** The same result as a JSON file in the store, for one above `limits.unreferencedResultBytes`. */
  readonly resultRef?: ArtifactRef;
  readonly startedAtMs: number;
  readonly endedAtMs: number;
  /** Processes of the call that outlived it. */
  readonly background?: readonly BackgroundProcess[];
  /** Those of the dispatch's that the sandbox has taken in; the others are sent again. */
  readonly acknowledged?: readonly string[];
  /** Set when the sandbox can't be trusted or is gone; the session goes through onLost. */
  readonly sandboxLost?: Failure;
}
