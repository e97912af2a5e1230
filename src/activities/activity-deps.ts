import type { RollOverThresholds } from "../contract/activities.js";
import type { CallDeps } from "../exec/run-plan.js";
import type { ProviderRegistry } from "../providers/registry.js";

/** What the activities of one worker work with; the composition root makes it. */
export interface ActivityDeps {
  readonly hostId: string;
  readonly providers: ProviderRegistry;
  readonly calls: CallDeps;
  readonly rollOver: RollOverThresholds;
  /** When a worker last polled the activities of a queue; null when none is known. */
  lastPollMs(taskQueue: string): Promise<number | null>;
  /** The shared queue, from which the hosts' queues get their names. */
  readonly taskQueue: string;
}
