import type { ArtifactStore } from "../artifacts/artifact-store.js";
import { inputRefSchema } from "../contract/call.js";
import type { CallDispatch } from "../contract/activities.js";
import { parse } from "../contract/parse.js";
import type { Failure } from "../contract/refs.js";
import { ProviderError } from "../providers/errors.js";
import type { BoundTool, Tools } from "../tools/tool.js";
import { requestHash } from "./request-hash.js";

/** Far above any input that makes sense; larger content goes into `write` by its own reference. */
const maxInputBytes = 16 * 1024 * 1024;

/** A checked call, ready to run. */
export interface CallPlan {
  readonly tool: BoundTool;
  readonly requestHash: string;
}

export const isReference = (input: Readonly<Record<string, unknown>>): boolean =>
  Object.entries(input).filter(([, value]) => value !== null)[0]?.[0] === "ref" &&
  Object.values(input).filter((value) => value !== null).length === 1;

/** The call's input itself, from the store when it is a reference. */
export async function resolveInput(
  input: Readonly<Record<string, unknown>>,
  artifacts: ArtifactStore,
): Promise<unknown> {
  if (!isReference(input)) return input;
  const parsed = parse(inputRefSchema, input, "input");
  if (!parsed.ok) throw refusal(parsed.failure);
  const bytes = await artifacts.read(parsed.value.ref, { maxBytes: maxInputBytes });
  try {
    return JSON.parse(Buffer.from(bytes).toString("utf8")) as unknown;
  } catch (cause) {
    throw new ProviderError("invalid-request", "input.ref: the referenced artifact is not JSON", {
      field: "input.ref",
      hint: "Store the tool's input as one JSON object.",
      cause,
    });
  }
}

/** Checks tool and input; throws `unsupported` or `invalid-request`. */
export function planCall(call: CallDispatch["call"], input: unknown, tools: Tools): CallPlan {
  const tool = tools.get(call.tool);
  if (tool === undefined) {
    throw new ProviderError("unsupported", `this release has no tool ${call.tool}`, {
      field: "tool",
      hint: `Use one of: ${[...tools.keys()].join(", ")}.`,
    });
  }
  const bound = tool.bind(input);
  if (!bound.ok) throw refusal(bound.failure);
  return { tool: bound.value, requestHash: requestHash({ tool: call.tool, input }) };
}

function refusal({ code, message, field, hint }: Failure): ProviderError {
  return new ProviderError(code, message, {
    ...(field === undefined ? {} : { field }),
    ...(hint === undefined ? {} : { hint }),
  });
}
