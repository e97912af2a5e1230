import type { Artifact, Capabilities, Handle, SessionIdentity } from "../contract/sandbox.js";
import type { NetworkPolicy, ResolvedSpec } from "../contract/spec.js";
import type { Channel } from "./channel.js";

/** What isolates. Knows nothing of Temporal. Every failure is a `ProviderError`. */
export interface Provider {
  readonly name: ResolvedSpec["provider"];
  capabilities(): Promise<Capabilities>;

  /** Refuses, before anything is created, what this provider can't do (`unsupported`, `invalid-request`). */
  check(spec: ResolvedSpec): void;
  /** Builds a template or reuses it. Leaves nothing behind that matches the key when it fails. */
  prepare(spec: ResolvedSpec, context: OperationContext): Promise<Artifact>;
  /**
   * Makes the sandbox of this session and generation. Idempotent by a deterministic name: adopts its own,
   * removes its own corpse, refuses a foreign one (`conflict`). Throws `template-not-provisioned` when the
   * template isn't on this host. When aborted, what it made is removed before it throws.
   */
  start(request: StartRequest, context: OperationContext): Promise<Handle>;
  /** Starts the same stopped sandbox again, never another: `session-lost` when it is gone. Idempotent. */
  resume(handle: Handle, context: OperationContext): Promise<Handle>;
  /** Ends what runs (records say so), keeps files. Idempotent. */
  stop(handle: Handle, options: { graceMs: number }, context: OperationContext): Promise<void>;
  /** Removes all sandboxes of the session up to the generation and waits until they are gone. Idempotent. */
  remove(target: RemoveTarget, context: OperationContext): Promise<void>;
  /** Opens a channel. `session-lost` when the sandbox is gone, `unavailable` when it can't be reached now. */
  connect(handle: Handle, context: OperationContext): Promise<Channel>;
  /** `unsupported` where the policy can't change at run time. */
  setNetworkPolicy(handle: Handle, policy: NetworkPolicy, context: OperationContext): Promise<Handle>;
  /** Lists this owner's resources and removes those that `query.isStale` names. */
  sweep(query: SweepQuery, context: OperationContext): Promise<SweepReport>;
  /** Ends what this object holds in this process (threads, clients). Sandboxes stay. */
  close(): Promise<void>;
}

export interface OperationContext {
  readonly signal: AbortSignal;
  /** One short line for people: what is being done now. Never a secret. */
  onProgress(message: string): void;
}

export interface StartRequest {
  readonly session: SessionIdentity;
  readonly generation: number;
  readonly spec: ResolvedSpec;
  /** What prepare returned; without it the template is looked up by its key. */
  readonly artifact?: Artifact;
}

export interface RemoveTarget {
  readonly session: SessionIdentity;
  readonly upToGeneration: number;
}

export interface SandboxResource {
  readonly kind: string;
  readonly id: string;
  readonly session?: SessionIdentity;
  readonly generation?: number;
  /** Unknown (undefined) when the engine's value can't be trusted: such a resource is kept. */
  readonly createdAtMs?: number;
}

export interface SweepQuery {
  /** Decides per item, after it was read again just before. */
  isStale(resource: SandboxResource): boolean;
  readonly dryRun: boolean;
}

export interface SweepReport {
  readonly lookedAt: number;
  readonly removed: readonly SandboxResource[];
  readonly kept: readonly (SandboxResource & { reason: string })[];
  readonly failed: readonly (SandboxResource & { reason: string })[];
}
