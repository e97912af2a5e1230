import type {
  ControlActivities,
  FastActivities,
  HostActivities,
  SharedActivities,
} from "../contract/activities.js";
import type { ActivityDeps } from "./activity-deps.js";
import {
  createFastActivities,
  createFollowingActivities,
  createKillingActivities,
} from "./call-activities.js";
import { createPlacementActivities } from "./placement-activities.js";
import { createBuildingActivities, createEndingActivities } from "./sandbox-activities.js";

export type { ActivityDeps } from "./activity-deps.js";

/** The activities by the queue that serves them; `contract/activities.ts` says what each may do. */
export interface Activities {
  /** `tryCalls` runs as local activity of whoever runs the workflow, so it belongs to the shared queue's worker. */
  readonly shared: SharedActivities & FastActivities;
  /** A pinned session is placed by its own host. */
  readonly host: HostActivities & SharedActivities;
  readonly control: ControlActivities;
}

export function createActivities(deps: ActivityDeps): Activities {
  const placement = createPlacementActivities(deps);
  return {
    shared: { ...placement, ...createFastActivities(deps) },
    host: { ...placement, ...createBuildingActivities(deps), ...createFollowingActivities(deps) },
    control: { ...createEndingActivities(deps), ...createKillingActivities(deps) },
  };
}
