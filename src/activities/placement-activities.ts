import { Context } from "@temporalio/activity";
import type { SharedActivities } from "../contract/activities.js";
import { hostTaskQueue, limits } from "../contract/names.js";
import { parse } from "../contract/parse.js";
import { resolveSpec, sessionSpecSchema, type SessionSpec } from "../contract/spec.js";
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
        refuseHuge(parsed.value);
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

/** The spec stays in history, and every run of the session begins with it. */
function refuseHuge(spec: SessionSpec): void {
  const sizeBytes = Buffer.byteLength(JSON.stringify(spec));
  if (sizeBytes <= limits.specBytes) return;
  throw new ProviderError("too-large", `spec: ${sizeBytes} bytes as JSON, the most are ${limits.specBytes}`, {
    field: "spec",
    hint: "Put files and long setup scripts into the artifact store (template.resources).",
  });
}
