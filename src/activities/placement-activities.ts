import { Context } from "@temporalio/activity";
import type { SharedActivities } from "../contract/activities.js";
import { hostTaskQueue } from "../contract/names.js";
import { parse } from "../contract/parse.js";
import { resolveSpec, sessionSpecSchema } from "../contract/spec.js";
import { ProviderError } from "../providers/errors.js";
import type { ActivityDeps } from "./activity-deps.js";
import { translateFailure } from "./translate-failure.js";

/** What this host can't do another may, so it refuses and is asked again; after so many refusals nobody can. */
const placementAttempts = 5;

export function createPlacementActivities(deps: ActivityDeps): SharedActivities {
  return {
    async placeSession({ spec: asSent }) {
      try {
        const parsed = parse(sessionSpecSchema, asSent, "spec");
        if (!parsed.ok) throw ProviderError.from(parsed.failure);
        const spec = resolveSpec(parsed.value);
        const provider = deps.providers.get(spec.provider);
        provider.check(spec);
        const capabilities = await provider.capabilities();
        return { hostId: deps.hostId, spec, capabilities, rollOver: deps.rollOver };
      } catch (error) {
        const { attempt } = Context.current().info;
        throw translateFailure(error, {
          attempt,
          alsoRetry: attempt < placementAttempts ? ["unsupported"] : [],
        });
      }
    },

    async describeHost({ hostId }) {
      return { lastSeenMs: await deps.lastPollMs(hostTaskQueue(deps.taskQueue, hostId)) };
    },
  };
}
