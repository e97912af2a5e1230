import type { ArtifactStore } from "../artifacts/artifact-store.js";
import { oneChunk } from "../artifacts/one-chunk.js";
import type { CallDispatch, CallEnding } from "../contract/activities.js";
import { limits } from "../contract/names.js";
import type { ArtifactRef, Failure } from "../contract/refs.js";
import { ProviderError } from "../providers/errors.js";
import type { ToolEnding } from "../tools/tool.js";
import { abortable, startDeadline } from "./abortable.js";
import type { RunOptions } from "./call-deps.js";
import type { CallPlan } from "./call-plan.js";
import { sandboxKey } from "./channel-pool.js";
import { createLeasedFiles } from "./channel-source.js";
import { encodedBytes } from "./render-output.js";
import { runCommand } from "./run-command.js";
import { smallestTimeoutMs } from "./smallest-timeout.js";

export type { CallDeps } from "./call-deps.js";

/** The answer is true; but what the command left can't be ended, and would run beside all that comes. */
const sandboxLost: Failure = {
  code: "session-lost",
  message: "processes of a command could not be ended, so the sandbox is given up",
  hint: "Start the session again, or set onLost to recreate.",
};

/**
 * Runs a checked call and makes its ending. Throws `ProviderError`, or the signal's reason. The sandbox keeps
 * the time of commands; for all else it is kept here.
 */
export async function runPlan(
  plan: CallPlan,
  dispatch: CallDispatch,
  options: RunOptions,
): Promise<CallEnding> {
  const startedAtMs = Date.now();
  const timeoutMs = smallestTimeoutMs(dispatch.call.timeoutMs);
  const deadline = startDeadline(timeoutMs, new Error("timed out"));
  try {
    const { poisoned, ...ending } = await runTool(plan, dispatch, options, deadline);
    const resultRef = await storeResult(ending.result, options.deps.artifacts);
    return {
      startedAtMs,
      endedAtMs: Date.now(),
      ...ending,
      ...(resultRef === undefined ? {} : { resultRef }),
      ...(poisoned ? { sandboxLost } : {}),
    };
  } catch (error) {
    options.signal.throwIfAborted();
    if (!deadline.signal.aborted) throw error;
    return { outcome: { kind: "timed-out", timeoutMs }, startedAtMs, endedAtMs: Date.now() };
  } finally {
    deadline.clear();
  }
}

async function runTool(
  plan: CallPlan,
  dispatch: CallDispatch,
  options: RunOptions,
  deadline: { signal: AbortSignal; clear(): void },
): Promise<ToolEnding & { poisoned: boolean }> {
  const signal = AbortSignal.any([options.signal, deadline.signal]);
  let claimed = false;
  let poisoned = false;
  const onClaimed = () => {
    if (!claimed) options.onClaimed();
    claimed = true;
  };
  const running = plan.tool.run({
    callId: dispatch.call.callId,
    sandbox: sandboxKey(dispatch.handle),
    requestHash: plan.requestHash,
    files: createLeasedFiles(options.source),
    artifacts: options.deps.artifacts,
    workspace: dispatch.workspace,
    signal,
    async runCommand(command) {
      deadline.clear();
      const end = await runCommand(command, dispatch, { ...options, onClaimed });
      poisoned ||= end.poisoned === true;
      return end;
    },
    onClaimed,
  });
  const ending = await abortable(running, signal);
  return { ...ending, poisoned };
}

/** A result that an old answer can't carry inline any more is found by its reference. */
async function storeResult(
  result: Record<string, unknown> | undefined,
  artifacts: ArtifactStore,
): Promise<ArtifactRef | undefined> {
  if (result === undefined) return undefined;
  const sizeBytes = encodedBytes(result);
  if (sizeBytes <= limits.unreferencedResultBytes) return undefined;
  if (sizeBytes > limits.answerBytes) {
    throw new ProviderError(
      "too-large",
      `the result has ${sizeBytes} bytes; an answer holds ${limits.answerBytes}`,
    );
  }
  try {
    const content = Buffer.from(JSON.stringify(result));
    return await artifacts.put(oneChunk(content), { mimeType: "application/json" });
  } catch (error) {
    // The answer itself is whole; only its copy for later is missing.
    if (error instanceof ProviderError) return undefined;
    throw error;
  }
}
