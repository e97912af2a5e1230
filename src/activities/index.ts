import type { ControlActivities, HostActivities, SharedActivities } from "../contract/activities.js";
import type { ActivityDeps } from "./activity-deps.js";
import { createFollowingActivities, createKillingActivities } from "./call-activities.js";
import { createPlacementActivities } from "./placement-activities.js";
import { createBuildingActivities, createEndingActivities } from "./sandbox-activities.js";

export type { ActivityDeps } from "./activity-deps.js";

/** The activities by the queue that serves them; `contract/activities.ts` says what each may do. */
export interface Activities {
  readonly shared: SharedActivities;
  /** A pinned session is placed by its own host. */
  readonly host: HostActivities & SharedActivities;
  readonly control: ControlActivities;
}

export function createActivities(deps: ActivityDeps): Activities {
  const placement = createPlacementActivities(deps);
  return {
    shared: placement,
    host: { ...placement, ...createBuildingActivities(deps), ...createFollowingActivities(deps) },
    control: { ...createEndingActivities(deps), ...createKillingActivities(deps) },
  };
}
