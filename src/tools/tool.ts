import type { z } from "zod";
import type { ArtifactStore } from "../artifacts/artifact-store.js";
import type { Outcome } from "../contract/call.js";
import type { ToolName } from "../contract/tools.js";
import type { Channel } from "../providers/channel.js";
import type { BackgroundProcess } from "../contract/state.js";

/** What a tool works with. Paths in inputs are relative to `workspace` unless absolute. */
export interface ToolContext {
  readonly callId: string;
  /** Hash of tool and input: the same id with another request is a conflict. */
  readonly requestHash: string;
  readonly channel: Channel;
  readonly artifacts: ArtifactStore;
  /** Absolute path in the sandbox. */
  readonly workspace: string;
  /** Session variables and resolved secrets. */
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  /** Per stream, enforced in the sandbox. */
  readonly outputBytes: number;
  /** Ends the following, never the command. */
  readonly signal: AbortSignal;
  /** Called once as soon as the call is claimed in the sandbox. */
  onClaimed(): void;
  /** Cheap view of a running command, for heartbeats. */
  onOutput(view: { stdout: number; stderr: number; tail: string }): void;
}

export interface ToolEnding {
  readonly outcome: Outcome;
  readonly result?: Record<string, unknown>;
  readonly startedAtMs: number;
  readonly endedAtMs: number;
  readonly background?: readonly BackgroundProcess[];
}

/** One tool, whole in one file. Throws `ProviderError`; the caller makes an outcome of it. */
export interface Tool<Input = never> {
  readonly name: ToolName;
  /** For people and models: what it does, its limits, how to go on. */
  readonly description: string;
  readonly input: z.ZodType<Input>;
  /** Whether it may be tried on the fast path with this input (an instant, as a rule). */
  isInstant(input: Input): boolean;
  run(input: Input, context: ToolContext): Promise<ToolEnding>;
}
