import type { CallEnding } from "../../src/contract/activities.js";
import type { Failure } from "../../src/contract/refs.js";
import { toolSchemas, type ToolName, type ToolResult } from "../../src/contract/tools.js";
import { performCall } from "../../src/exec/perform-call.js";
import { dispatchOf } from "../support/dispatch.js";
import { unhurried, type MemoryWorker } from "../support/memory-worker.js";

let calls = 0;

/** Calls a tool as a session would. Each call has an id of its own unless one is given. */
export function call(
  worker: MemoryWorker,
  tool: ToolName,
  input: Record<string, unknown>,
  callId = `call-${(calls += 1)}`,
): Promise<CallEnding> {
  return performCall(dispatchOf(tool, input, { call: { callId } }), worker.deps, unhurried());
}

/** The result of a call that must succeed, checked against the contract. */
export async function succeed<T extends ToolName>(
  worker: MemoryWorker,
  tool: T,
  input: Record<string, unknown>,
  callId?: string,
): Promise<ToolResult<T>> {
  const { outcome, result } = await call(worker, tool, input, callId);
  if (outcome.kind !== "ok") throw new Error(`${tool} failed: ${JSON.stringify(outcome)}`);
  return toolSchemas[tool].result.parse(result) as ToolResult<T>;
}

/** The failure of a call that must fail. */
export async function fail(
  worker: MemoryWorker,
  tool: ToolName,
  input: Record<string, unknown>,
  callId?: string,
): Promise<Failure> {
  const { outcome, result } = await call(worker, tool, input, callId);
  if (outcome.kind !== "error") throw new Error(`${tool} gave ${JSON.stringify({ outcome, result })}`);
  return outcome.error;
}

export const putFile = (worker: MemoryWorker, path: string, content: string | Uint8Array, mode = 0o644) => {
  worker.sandbox.files.set(path, { bytes: Buffer.from(content as string), mode });
};
export const fileText = (worker: MemoryWorker, path: string) =>
  worker.sandbox.files.get(path)?.bytes.toString("utf8");
