import type { z } from "zod";
import { inputRefSchema, type Answer, type CallRequest } from "../contract/call.js";
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

/** The tools as functions; each is one durable call. A string is what the tool can't do without. */
export interface ToolCalls {
  bash(input: string | ToolInput<"bash">, options?: ToolCallOptions): Promise<ToolAnswer<"bash">>;
  read(input: string | ToolInput<"read">, options?: ToolCallOptions): Promise<ToolAnswer<"read">>;
  write(input: ToolInput<"write">, options?: ToolCallOptions): Promise<ToolAnswer<"write">>;
  edit(input: ToolInput<"edit">, options?: ToolCallOptions): Promise<ToolAnswer<"edit">>;
  ls(input?: string | ToolInput<"ls">, options?: ToolCallOptions): Promise<ToolAnswer<"ls">>;
  find(input: string | ToolInput<"find">, options?: ToolCallOptions): Promise<ToolAnswer<"find">>;
  glob(input: string | ToolInput<"glob">, options?: ToolCallOptions): Promise<ToolAnswer<"glob">>;
  grep(input: string | ToolInput<"grep">, options?: ToolCallOptions): Promise<ToolAnswer<"grep">>;
}

type Call = (call: Omit<CallRequest, "callId"> & ToolCallOptions) => Promise<Answer>;

export function createToolCalls(call: Call): ToolCalls {
  return {
    bash: (input, options) =>
      run(call, "bash", typeof input === "string" ? { command: input } : input, options),
    read: (input, options) => run(call, "read", typeof input === "string" ? { path: input } : input, options),
    write: (input, options) => run(call, "write", input, options),
    edit: (input, options) => run(call, "edit", input, options),
    ls: (input = {}, options) =>
      run(call, "ls", typeof input === "string" ? { path: input } : input, options),
    find: (input, options) => run(call, "find", ofPattern(input), options),
    glob: (input, options) => run(call, "glob", ofPattern(input), options),
    grep: (input, options) => run(call, "grep", ofPattern(input), options),
  };
}

const ofPattern = <T extends object>(input: string | T): T | { pattern: string } =>
  typeof input === "string" ? { pattern: input } : input;

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
  // With a store the client would have fetched it.
  if (inputRefSchema.safeParse(result).success) {
    throw new HoldfastError(
      "unsupported",
      `The result of call ${answer.callId} is in the artifact store, and this client has none.`,
      {
        field: "artifacts",
        hint: "Create the client with `artifacts` (the installation's HOLDFAST_ARTIFACTS directory), or use `call`, which answers with the reference.",
      },
    );
  }
  throw new HoldfastError(
    "internal",
    `The ${tool} tool answered in a shape that this client does not know.`,
    {
      field: parsed.failure.field,
      hint: "Client and workers are of different releases: upgrade the older one, or use `call`.",
    },
  );
}
