import type { CallDispatch, CallEnding, CallStep } from "../contract/activities.js";
import { ProviderError } from "../providers/errors.js";
import { startDeadline } from "./abortable.js";
import { isReference, planCall, type CallPlan } from "./call-plan.js";
import type { CallDeps } from "./call-deps.js";
import { endingOf } from "./perform-call.js";
import { runPlan } from "./run-plan.js";

/** While a local activity runs its workflow hears nothing, so it must not be felt. */
export const softDeadlineMs = 75;

/**
 * The fast path: does a call that takes an instant on a channel that is open already. Never throws and never
 * waits beyond the deadline; whatever it leaves undone, the host queue's activity takes over by the call's id.
 */
export async function tryInstant(
  dispatch: CallDispatch,
  deps: CallDeps,
  deadlineMs = softDeadlineMs,
): Promise<CallStep> {
  const startedAtMs = Date.now();
  const progress = { claimed: false };
  const late = new ProviderError("unavailable", "the fast path's deadline passed");
  const deadline = startDeadline(deadlineMs, late);
  try {
    const plan = planInstant(dispatch, deps);
    if (plan === undefined) return { status: "not-here" };
    const ending = runPlan(plan, dispatch, {
      deps,
      source: { open: () => openNow(dispatch, deps) },
      signal: deadline.signal,
      onClaimed: () => {
        progress.claimed = true;
      },
      onOutput: () => undefined,
    });
    return { status: "done", ending: await ending };
  } catch (error) {
    return stepOf(error, startedAtMs) ?? { status: progress.claimed ? "running" : "not-here" };
  } finally {
    deadline.clear();
  }
}

/** Undefined when it can't be an instant. Without an open channel one is opened for the activity that follows. */
function planInstant(dispatch: CallDispatch, deps: CallDeps): CallPlan | undefined {
  if (isReference(dispatch.call.input)) {
    deps.pool.warm(dispatch.handle);
    return undefined;
  }
  const plan = planCall(dispatch.call, dispatch.call.input, deps.tools);
  const lease = deps.pool.peek(dispatch.handle);
  lease?.release();
  if (lease === undefined) deps.pool.warm(dispatch.handle);
  return lease !== undefined && plan.tool.isInstant ? plan : undefined;
}

function openNow({ handle }: CallDispatch, { pool }: CallDeps) {
  const lease = pool.peek(handle);
  return lease === undefined
    ? Promise.reject(new ProviderError("unavailable", "no channel is open"))
    : Promise.resolve(lease);
}

function stepOf(error: unknown, startedAtMs: number): CallStep | undefined {
  try {
    const ending: CallEnding = endingOf(error, startedAtMs);
    return { status: "done", ending };
  } catch {
    // The host queue's activity meets the same failure, and can report and retry it.
    return undefined;
  }
}
