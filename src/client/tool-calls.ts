import type { z } from "zod";
import type { Answer, CallRequest } from "../contract/call.js";
import { parse } from "../contract/parse.js";
import { toolSchemas, type ToolInput, type ToolName, type ToolResult } from "../contract/tools.js";
import type { WaitOptions } from "./call-tool.js";
import { HoldfastError } from "./holdfast-error.js";

/** An answer whose result has the tool's own shape. Absent where the outcome has none (`error`, `lost`). */
export type ToolAnswer<T extends ToolName> = Omit<Answer, "result"> & { readonly result?: ToolResult<T> };

export interface ToolCallOptions extends WaitOptions {
  readonly callId?: string;
  readonly timeoutMs?: number;
}

/** The tools as functions; each is one durable call. */
export interface ToolCalls {
  bash(input: string | ToolInput<"bash">, options?: ToolCallOptions): Promise<ToolAnswer<"bash">>;
  read(input: string | ToolInput<"read">, options?: ToolCallOptions): Promise<ToolAnswer<"read">>;
  write(input: ToolInput<"write">, options?: ToolCallOptions): Promise<ToolAnswer<"write">>;
  ls(input?: string | ToolInput<"ls">, options?: ToolCallOptions): Promise<ToolAnswer<"ls">>;
}

type Call = (call: Omit<CallRequest, "callId"> & ToolCallOptions) => Promise<Answer>;

export function createToolCalls(call: Call): ToolCalls {
  return {
    bash: (input, options) =>
      run(call, "bash", typeof input === "string" ? { command: input } : input, options),
    read: (input, options) => run(call, "read", typeof input === "string" ? { path: input } : input, options),
    write: (input, options) => run(call, "write", input, options),
    ls: (input = {}, options) =>
      run(call, "ls", typeof input === "string" ? { path: input } : input, options),
  };
}

async function run<T extends ToolName>(
  call: Call,
  tool: T,
  input: ToolInput<T>,
  options: ToolCallOptions = {},
): Promise<ToolAnswer<T>> {
  const { result, ...answer } = await call({ tool, input, ...options });
  if (result === undefined) return answer;
  // TypeScript does not see that the schema of T gives the result of T.
  const schema = toolSchemas[tool].result as unknown as z.ZodType<ToolResult<T>>;
  const parsed = parse(schema, result, "result");
  if (parsed.ok) return { ...answer, result: parsed.value };
  throw new HoldfastError(
    "internal",
    `The ${tool} tool answered in a shape that this client does not know.`,
    {
      field: parsed.failure.field,
      hint: "Client and workers are of different releases: upgrade the older one, or use `call`.",
    },
  );
}
