import type { CallDispatch } from "../../src/contract/activities.js";
import { memoryHandle } from "./memory-channel.js";

type Call = CallDispatch["call"];

/** A call of a session on the memory sandbox, as the workflow dispatches it. */
export function dispatchOf(
  tool: Call["tool"],
  input: Record<string, unknown>,
  changes: Partial<Omit<CallDispatch, "call">> & { call?: Partial<Call> } = {},
): CallDispatch {
  const { call, ...rest } = changes;
  return {
    handle: memoryHandle(),
    call: { callId: "call-1", tool, input, ...call },
    env: {},
    secrets: {},
    workspace: "/workspace",
    outputBytes: 1024 ** 3,
    acknowledged: [],
    ...rest,
  };
}
