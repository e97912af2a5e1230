import type { ActivityDeps } from "../../src/activities/activity-deps.js";
import type { Provider } from "../../src/providers/provider.js";
import { createProviderRegistry } from "../../src/providers/registry.js";
import type { MemoryWorker } from "./memory-worker.js";

/** What the activities of host-1 work with, over one memory sandbox. */
export const activityDepsOf = (worker: MemoryWorker, providers: readonly Provider[] = []): ActivityDeps => ({
  hostId: "host-1",
  taskQueue: "test",
  providers: createProviderRegistry(providers),
  calls: worker.deps,
  rollOver: { updates: 1_500, historyEvents: Number.MAX_SAFE_INTEGER },
  lastPollMs: () => Promise.resolve(null),
});
