import type { CallDispatch, CallEnding, ControlActivities, HostActivities } from "../contract/activities.js";
import { abortable } from "../exec/abortable.js";
import { acknowledge } from "../exec/acknowledge.js";
import { performCall } from "../exec/perform-call.js";
import { hasCode } from "../providers/errors.js";
import type { ActivityDeps } from "./activity-deps.js";
import { inActivity, type ActivityScope } from "./in-activity.js";

/** Between TERM and KILL. A command that wants to clean up has this long. */
const killGraceMs = 2_000;

/** A call that has ended waits so long for the sandbox to take in the acknowledgements. */
const acknowledgeMs = 2_000;

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
          const killed = lease.channel.kill(callId, {
            graceMs: killGraceMs,
            cause: by,
            signal: scope.signal,
          });
          // Whatever the sandbox does: a worker that shuts down doesn't wait for it.
          await abortable(killed, scope.signal);
        } finally {
          lease.release();
        }
      }),
  };
}
