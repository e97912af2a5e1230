import { sleep } from "@temporalio/workflow";
import type { Failure } from "../../contract/refs.js";
import { isCancelled, isHostSilence } from "./failures.js";
import { shared } from "./proxies.js";
import type { SessionContext } from "./session-context.js";

/** The host was given up. `onLost` decides what becomes of the session. */
export class HostLost extends Error {
  override readonly name = "HostLost";
  constructor(readonly failure: Failure) {
    super(failure.message);
  }
}

/** A poll lasts a minute at most, so a worker that polls was seen within this time. */
const seenLatelyMs = 75_000;

/** A host that comes back is noticed within this time and the wait on its queue. */
const longestPauseMs = 5 * 60_000;

/**
 * Runs something on a host for as long as there is hope. Nobody takes the task: the queue's pollers are asked.
 * Seen lately means busy, and it is tried again. Otherwise the session is `unreachable`, which is visible and
 * loses nothing, until `hostLossMs` is over. A deploy or a reboot ends nothing.
 */
export async function onHost<T>(
  context: SessionContext,
  hostId: string,
  attempt: () => Promise<T>,
): Promise<T> {
  for (;;) {
    try {
      const result = await attempt();
      context.state.apply({ type: "reachable" });
      return result;
    } catch (error) {
      if (isCancelled(error)) throw error;
      if (!isHostSilence(error)) {
        context.state.apply({ type: "reachable" });
        throw error;
      }
      await askForHost(context, hostId);
      // A long silence is asked about more and more seldom: each attempt costs events, and it may last for days.
      await sleep(pauseMs(context));
    }
  }
}

function pauseMs(context: SessionContext): number {
  const { unreachable } = context.state.lifecycle;
  if (unreachable === undefined) return 1;
  return Math.min(Math.max((context.now() - unreachable.sinceMs) / 4, 1), longestPauseMs);
}

async function askForHost(context: SessionContext, hostId: string): Promise<void> {
  const { state } = context;
  const lastSeenMs = await shared
    .describeHost({ hostId })
    .then((seen) => seen.lastSeenMs)
    .catch((error: unknown) => {
      if (isCancelled(error)) throw error;
      // Not even a worker to ask: as silent as the host.
      return null;
    });
  if (lastSeenMs !== null && context.now() - lastSeenMs < seenLatelyMs) {
    state.apply({ type: "reachable" });
    return;
  }
  state.apply({ type: "unreachable" });
  const sinceMs = state.lifecycle.unreachable?.sinceMs ?? context.now();
  if (context.now() - sinceMs < state.lifecycle.timeouts.hostLossMs) return;
  throw new HostLost({
    code: "unreachable",
    message: `host ${hostId} has not answered since ${new Date(sinceMs).toISOString()}`,
    hint: "Start a worker with this host id, or start a new session.",
  });
}
