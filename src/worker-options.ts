import type { WorkerOptions } from "@temporalio/worker";

/**
 * What a worker needs so that the promises of `docs/guarantees.md` hold; each value was measured.
 */
export const workerDefaults = {
  // A cancellation is heard with a heartbeat, and the default throttle holds those back for most of a minute.
  maxHeartbeatThrottleInterval: "1s",
  defaultHeartbeatThrottleInterval: "1s",
  // After a crash the first task of a session waits this long for the dead worker; 10 s is the default.
  stickyQueueScheduleToStartTimeout: "2s",
  // Enough for a create to finish; following activities are cut off then, and commands go on without them.
  shutdownGraceTime: "5s",
  // Whatever doesn't hear that it is cut off must not keep the process for ever.
  shutdownForceTime: "30s",
  // 500 idle sessions need 430 MB with all of them cached, 361 MB with 50; a replay costs milliseconds.
  maxCachedWorkflows: 50,
} as const satisfies Partial<WorkerOptions>;
