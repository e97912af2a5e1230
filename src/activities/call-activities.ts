import type {
  CallDispatch,
  CallEnding,
  CallStep,
  ControlActivities,
  FastActivities,
  HostActivities,
} from "../contract/activities.js";
import { limits } from "../contract/names.js";
import { performCall } from "../exec/perform-call.js";
import { tryInstant } from "../exec/try-instant.js";
import { hasCode } from "../providers/errors.js";
import type { ActivityDeps } from "./activity-deps.js";
import { inActivity, type ActivityScope } from "./in-activity.js";

/** Between TERM and KILL. A command that wants to clean up has this long. */
const killGraceMs = 2_000;

/** The fast path, as local activity. */
export function createFastActivities(deps: ActivityDeps): FastActivities {
  return {
    async tryCalls({ calls, acknowledged, ...common }) {
      // Workflow code can't know which host its task runs on; a wrong guess costs 2 ms.
      if (common.handle.hostId !== deps.hostId) return calls.map(() => ({ status: "not-here" }));
      const steps = await Promise.all(
        calls.map((call, index) =>
          tryInstant({ ...common, call, acknowledged: index === 0 ? acknowledged : [] }, deps.calls),
        ),
      );
      return withinBatch(steps);
    },
  };
}

/** What doesn't fit any more is fetched by the host queue's activity: its record is still in the sandbox. */
function withinBatch(steps: readonly CallStep[]): CallStep[] {
  let bytes = 0;
  return steps.map((step) => {
    bytes += Buffer.byteLength(JSON.stringify(step));
    return bytes <= limits.batchBytes ? step : { status: "running" };
  });
}

/** Following, on the host's queue. */
export function createFollowingActivities(deps: ActivityDeps): Pick<HostActivities, "followCall"> {
  return {
    followCall: (dispatch) =>
      inActivity({}, async (scope) => {
        try {
          return await follow(dispatch, scope);
        } catch (error) {
          if (!hasCode(error, "closed")) throw error;
        }
        // Stopped behind our back, by a reboot or by hand: the same sandbox goes on. What ran in it is lost, and
        // its own records say so; a call that was never claimed may start now.
        await deps.providers.get(dispatch.handle.provider).resume(dispatch.handle, scope);
        return follow(dispatch, scope);
      }),
  };

  function follow(dispatch: CallDispatch, scope: ActivityScope): Promise<CallEnding> {
    const { callId } = dispatch.call;
    scope.report({ callId });
    return performCall(dispatch, deps.calls, {
      signal: scope.signal,
      onClaimed: () => undefined,
      onOutput: ({ stdout, stderr, tail }) => {
        scope.report({ callId, offsets: { stdout, stderr }, tail });
      },
    });
  }
}

/** Killing, on the control queue, which running commands can't starve. */
export function createKillingActivities(deps: ActivityDeps): Pick<ControlActivities, "killCall"> {
  return {
    killCall: ({ handle, callId, by }) =>
      inActivity({}, async (scope) => {
        const lease = await deps.calls.pool.acquire(handle, scope);
        try {
          await lease.channel.kill(callId, { graceMs: killGraceMs, cause: by });
        } finally {
          lease.release();
        }
      }),
  };
}
