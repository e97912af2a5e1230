/**
 * Names and limits that cross the wire. The only module of the contract that workflow code imports at
 * run time, so it imports nothing itself. A registered name never changes its meaning.
 */

export const sessionWorkflowType = "sandboxSession";

/** The shared queue: workflows, and activities any host may take (placement). */
export const defaultTaskQueue = "holdfast";

/** The queue of one host: everything that touches an engine and may take long. */
export const hostTaskQueue = (base: string, hostId: string): string => `${base}@${hostId}`;

/** The host's second queue: kill, stop, remove. Running commands can't starve it. */
export const controlTaskQueue = (base: string, hostId: string): string => `${base}@${hostId}/control`;

export const messageNames = {
  callTool: "callTool",
  awaitCall: "awaitCall",
  cancelCall: "cancelCall",
  stop: "stop",
  resume: "resume",
  delete: "delete",
  extend: "extend",
  setNetworkPolicy: "setNetworkPolicy",
  upload: "upload",
  collectOutputs: "collectOutputs",
} as const;

export const queryNames = { state: "state", call: "call", calls: "calls" } as const;

export const providerNames = ["docker", "msb", "just-bash", "fake"] as const;

export const toolNames = ["bash", "read", "write", "edit", "ls", "find", "glob", "grep"] as const;

/** Codes of every failure that a caller can meet; `docs/failures.md` explains each. */
export const failureCodes = [
  "invalid-request",
  "unsupported",
  "not-found",
  "cannot-start",
  "not-a-file",
  "not-unique",
  "too-large",
  "no-space",
  "denied",
  "busy",
  "conflict",
  "closed",
  "template-not-provisioned",
  "template-failed",
  "session-lost",
  "unreachable",
  "unavailable",
  "internal",
] as const;

export const sessionStatuses = [
  "preparing",
  "starting",
  "running",
  "stopping",
  "stopped",
  "resuming",
  "unreachable",
  "deleting",
  "deleted",
  "failed",
] as const;

/** In a text that UTF-8 can't encode. As an id it would be taken for another one, or take a worker down. */
export const loneSurrogate = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/;

/** A host's id is part of queue names and labels, so it holds no separator of either. */
export const hostIdPattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$/;

/** Sizes are of the JSON encoding, in bytes, unless the name says otherwise. */
export const limits = {
  callIdChars: 200,
  /** A larger `input` must be a reference into the artifact store. */
  inlineInputBytes: 32 * 1024,
  /** All streams of one answer together; the rest goes to the artifact store. */
  answerBytes: 128 * 1024,
  /** Answers to `state`, `call` and `calls`. */
  queryBytes: 256 * 1024,
  /** A whole spec: it is in history for ever, and every roll-over carries it. */
  specBytes: 256 * 1024,
  /** What a run hands to the next one at roll-over. */
  carriedBytes: 1024 * 1024,
  /** Of these, answers kept inline (newest first); older ones keep outcome and references. */
  carriedAnswerBytes: 256 * 1024,
  /** Calls whose record is kept; an older id is still refused by the sandbox's tombstones. */
  rememberedCalls: 1000,
  /** A result above this is in the store too, so that its answer can outlive the inline copy. */
  unreferencedResultBytes: 256,
  queuedCalls: 500,
  queuedInputBytes: 512 * 1024,
  rejectedKept: 20,
  /** Updates held open at once, of any kind; the server hangs silently on the 11th. */
  heldUpdates: 8,
  waitMs: 30_000,
  /** Updates in one run before it rolls over; the server refuses the 2,001st. */
  updatesPerRun: 1500,
  /**
   * 100 years: every timer of a session, in the server's format and in a guest's nanoseconds, can hold it.
   */
  durationMs: 100 * 365 * 24 * 3_600_000,
  /** Levels of arrays and objects in a value from outside. */
  nesting: 100,
  /** Of a field's name in a failure. */
  fieldChars: 300,
  envNameChars: 200,
  /** `NAME=value` and its NUL: the kernel's limit for one string of a new program. */
  envEntryBytes: 128 * 1024,
  /** All variables of a session, of a template or of one call. */
  envBytes: 128 * 1024,
  labels: 64,
  labelKeyChars: 200,
  labelValueChars: 4096,
  labelsBytes: 64 * 1024,
} as const;

/** Durations of a session that names none, in milliseconds. */
export const defaultTimeouts = {
  idleMs: 15 * 60_000,
  stoppedTtlMs: 24 * 3_600_000,
  maxLifetimeMs: 7 * 24 * 3_600_000,
  startMs: 5 * 60_000,
  hostLossMs: 15 * 60_000,
} as const;

export const defaultStopGraceMs = 10_000;
export const defaultCallTimeoutMs = 10 * 60_000;
export const defaultMaxConcurrentCalls = 8;
