import type { z } from "zod";
import type { ArtifactStore } from "../artifacts/artifact-store.js";
import type { Outcome } from "../contract/call.js";
import { parse, type Parsed } from "../contract/parse.js";
import type { Text } from "../contract/refs.js";
import type { BackgroundProcess } from "../contract/state.js";
import type { ToolName } from "../contract/tools.js";
import type { CallEnd, Files } from "../providers/channel.js";

/** What a tool works with. Paths in inputs are relative to `workspace` unless absolute. */
export interface ToolContext {
  readonly callId: string;
  /** Names one generation of a sandbox. */
  readonly sandbox: string;
  /** Hash of tool and input: the same id with another request is a conflict. */
  readonly requestHash: string;
  readonly files: Files;
  readonly artifacts: ArtifactStore;
  /** Absolute path in the sandbox. */
  readonly workspace: string;
  /** Ends the following, never the command. */
  readonly signal: AbortSignal;
  /** Runs the call's command, or attaches to it, and returns when it ended. */
  runCommand(command: Command): Promise<CommandEnd>;
  /** Called once as soon as the call is claimed in the sandbox; runCommand does it by itself. */
  onClaimed(): void;
}

export interface Command {
  readonly script: string;
  /** Absolute path in the sandbox. */
  readonly cwd: string;
  /** Beside the session's variables and secrets, which they override. */
  readonly env: Readonly<Record<string, string>>;
  /** The call may have a smaller one. */
  readonly timeoutMs?: number;
}

export interface CommandEnd extends CallEnd {
  readonly stdout: Text;
  readonly stderr: Text;
}

export interface ToolEnding {
  readonly outcome: Outcome;
  /** Within the answer's budget when encoded. */
  readonly result?: Record<string, unknown>;
  /** When the sandbox knows better than the caller. */
  readonly startedAtMs?: number;
  readonly endedAtMs?: number;
  readonly background?: readonly BackgroundProcess[];
}

/** One tool, whole in one file. Throws `ProviderError`; the caller makes an outcome of it. */
export interface ToolDefinition<Input> {
  readonly name: ToolName;
  /** For people and models: what it does, its limits, how to go on. */
  readonly description: string;
  readonly input: z.ZodType<Input>;
  run(input: Input, context: ToolContext): Promise<ToolEnding>;
}

/** A tool whose input type is settled inside. */
export interface Tool {
  readonly name: ToolName;
  readonly description: string;
  readonly input: z.ZodType;
  /** Checks an input; a refusal names the field (`input.path`). */
  bind(input: unknown): Parsed<BoundTool>;
}

export interface BoundTool {
  run(context: ToolContext): Promise<ToolEnding>;
}

export type Tools = ReadonlyMap<string, Tool>;

export function defineTool<Input>(definition: ToolDefinition<Input>): Tool {
  return {
    name: definition.name,
    description: definition.description,
    input: definition.input,
    bind(value) {
      const parsed = parse(definition.input, value, "input");
      if (!parsed.ok) return parsed;
      const input = parsed.value;
      return {
        ok: true,
        value: {
          run: (context) => definition.run(input, context),
        },
      };
    },
  };
}
