import type {
  CallDispatch,
  CallEnding,
  CallStep,
  ControlActivities,
  FastActivities,
  HostActivities,
} from "../contract/activities.js";
import { limits } from "../contract/names.js";
import { acknowledge } from "../exec/acknowledge.js";
import { performCall } from "../exec/perform-call.js";
import { softDeadlineMs, tryInstant } from "../exec/try-instant.js";
import { hasCode } from "../providers/errors.js";
import type { ActivityDeps } from "./activity-deps.js";
import { inActivity, type ActivityScope } from "./in-activity.js";

/** Between TERM and KILL. A command that wants to clean up has this long. */
const killGraceMs = 2_000;

/** A call that has ended waits so long for the sandbox to take in the acknowledgements. */
const acknowledgeMs = 2_000;

/** The fast path, as local activity. */
export function createFastActivities(deps: ActivityDeps): FastActivities {
  return {
    async tryCalls({ calls, ...common }) {
      // Workflow code can't know which host its task runs on; a wrong guess costs 2 ms.
      if (common.handle.hostId !== deps.hostId) {
        return { steps: calls.map(() => ({ status: "not-here" })), acknowledged: [] };
      }
      // The calls first: somebody waits for them, and the channel serves in order.
      const steps = Promise.all(calls.map((call) => tryInstant({ ...common, call }, deps.calls)));
      const acknowledged = acknowledge(deps.calls.pool, common, {
        timeoutMs: softDeadlineMs,
        signal: new AbortController().signal,
      });
      return { steps: withinBatch(await steps), acknowledged: await acknowledged };
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

  async function follow(dispatch: CallDispatch, scope: ActivityScope): Promise<CallEnding> {
    const { callId } = dispatch.call;
    scope.report({ callId });
    let acknowledging: Promise<readonly string[]> | undefined;
    // With the claim there is an open channel, and a command may run for hours after it.
    const tell = (): Promise<readonly string[]> =>
      (acknowledging ??= acknowledge(deps.calls.pool, dispatch, {
        timeoutMs: acknowledgeMs,
        signal: scope.signal,
      }));
    const ending = await performCall(dispatch, deps.calls, {
      signal: scope.signal,
      onClaimed: () => void tell(),
      onOutput: ({ stdout, stderr, tail }) => {
        scope.report({ callId, offsets: { stdout, stderr }, tail });
      },
    });
    // A call that claimed nothing, by its input for example, tells on whatever channel is open.
    const acknowledged = await tell();
    return acknowledged.length === 0 ? ending : { ...ending, acknowledged };
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
