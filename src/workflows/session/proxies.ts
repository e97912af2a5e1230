import { proxyActivities, workflowInfo } from "@temporalio/workflow";
import type { ControlActivities, HostActivities, SharedActivities } from "../../contract/activities.js";
import { controlTaskQueue, hostTaskQueue } from "../../contract/names.js";

/**
 * Activities by the queue they run on. Each proxy sets `cancellationType` itself: unset means TRY_CANCEL,
 * whatever the type file says.
 */

/** Retries are for infrastructure; the activities themselves say which failures are not worth one. */
const retry = { initialInterval: "200ms", backoffCoefficient: 2, maximumInterval: "10s" } as const;

/** How long a task may wait on a host's queue before the session asks whether the host is still there. */
const hostSilence = "30s";

/** Heartbeats come every second, so this many lost ones mean that the worker is gone. */
const heartbeatTimeout = "30s";

/** Long enough for whatever a session may run; the sandbox enforces the call's own timeout. */
const longest = "3650 days";

export const shared = proxyActivities<Pick<SharedActivities, "describeHost">>({
  scheduleToCloseTimeout: "20s",
  startToCloseTimeout: "10s",
  retry,
  cancellationType: "TRY_CANCEL",
});

/** On the pinned host's queue, or on the shared one where any host may answer. */
export const placement = (pinnedHostId: string | undefined) => {
  const { taskQueue } = workflowInfo();
  return proxyActivities<Pick<SharedActivities, "placeSession">>({
    ...(pinnedHostId === undefined
      ? {}
      : { taskQueue: hostTaskQueue(taskQueue, pinnedHostId), scheduleToStartTimeout: hostSilence }),
    startToCloseTimeout: "20s",
    retry,
    cancellationType: "TRY_CANCEL",
  });
};

/** Making and resuming: cancelled ones clean up after themselves, so the workflow waits for their word. */
export const building = (hostId: string, startMs: number) =>
  proxyActivities<Pick<HostActivities, "prepareTemplate" | "startSandbox" | "resumeSandbox">>({
    taskQueue: hostTaskQueue(workflowInfo().taskQueue, hostId),
    scheduleToStartTimeout: hostSilence,
    startToCloseTimeout: startMs,
    // Over all attempts: one that takes longer each time must not be tried for ever.
    scheduleToCloseTimeout: startMs,
    heartbeatTimeout,
    retry,
    cancellationType: "WAIT_CANCELLATION_COMPLETED",
  });

/** Following never owns the command: cancelling it frees the worker's slot and no more. */
export const following = (hostId: string) =>
  proxyActivities<Pick<HostActivities, "followCall">>({
    taskQueue: hostTaskQueue(workflowInfo().taskQueue, hostId),
    scheduleToStartTimeout: hostSilence,
    startToCloseTimeout: longest,
    heartbeatTimeout,
    retry,
    cancellationType: "TRY_CANCEL",
  });

export const control = (hostId: string, options: { scheduleToCloseMs?: number } = {}) =>
  proxyActivities<ControlActivities>({
    taskQueue: controlTaskQueue(workflowInfo().taskQueue, hostId),
    scheduleToStartTimeout: hostSilence,
    startToCloseTimeout: "2 minutes",
    ...(options.scheduleToCloseMs === undefined ? {} : { scheduleToCloseTimeout: options.scheduleToCloseMs }),
    heartbeatTimeout,
    retry,
    cancellationType: "TRY_CANCEL",
  });
