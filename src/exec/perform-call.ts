import type { CallDispatch, CallEnding } from "../contract/activities.js";
import type { FailureCode } from "../contract/refs.js";
import { ProviderError } from "../providers/errors.js";
import { planCall, resolveInput } from "./call-plan.js";
import type { CallDeps, LiveOutput } from "./call-deps.js";
import { acquirePatiently } from "./channel-source.js";
import { runPlan } from "./run-plan.js";

/** Failures that concern the session and not the call. */
const ofSession: readonly FailureCode[] = ["session-lost", "unavailable", "unreachable", "closed"];

export interface PerformOptions {
  /** Ends the following, never the command; its reason is thrown. */
  readonly signal: AbortSignal;
  /** Called once, as soon as the sandbox has claimed the call. */
  onClaimed(): void;
  onOutput(live: LiveOutput): void;
}

/**
 * Claims and starts a call, or attaches to it, and returns how it ended. Throws only the signal's reason and
 * what concerns the session and not the call: `session-lost`, `closed` (the sandbox is stopped),
 * `unreachable` (another host's), and `unavailable`, which may be tried again.
 */
export async function performCall(
  dispatch: CallDispatch,
  deps: CallDeps,
  options: PerformOptions,
): Promise<CallEnding> {
  const { signal } = options;
  const startedAtMs = Date.now();
  try {
    const input = await resolveInput(dispatch.call.input, deps.artifacts);
    const plan = planCall(dispatch.call, input, deps.tools);
    const source = { open: () => acquirePatiently(deps.pool, dispatch.handle, signal) };
    return await runPlan(plan, dispatch, { ...options, deps, source });
  } catch (error) {
    signal.throwIfAborted();
    return endingOf(error, startedAtMs);
  }
}

/** The ending that a failure of the call itself is; rethrows what isn't one. */
export function endingOf(error: unknown, startedAtMs: number): CallEnding {
  if (!(error instanceof ProviderError) || ofSession.includes(error.code)) throw error;
  return { outcome: { kind: "error", error: error.toFailure() }, startedAtMs, endedAtMs: Date.now() };
}
