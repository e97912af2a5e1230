import type { ControlActivities, HostActivities } from "../contract/activities.js";
import { setNetworkPolicySchema } from "../contract/messages.js";
import { parse } from "../contract/parse.js";
import { abortable } from "../exec/abortable.js";
import { acknowledge } from "../exec/acknowledge.js";
import { hasCode, ProviderError } from "../providers/errors.js";
import type { ActivityDeps } from "./activity-deps.js";
import { inActivity } from "./in-activity.js";

/** Somebody waits for a first start, so an engine that stays away is told after about 20 s of attempts. */
const startAttempts = 8;

/** Only room in the spool is at stake; the stop itself matters more. */
const acknowledgeMs = 2_000;

/** Making and resuming, on the host's queue. */
export function createBuildingActivities(deps: ActivityDeps): Omit<HostActivities, "followCall"> {
  const { providers } = deps;
  return {
    prepareTemplate: ({ spec }) =>
      inActivity({ finalAttempt: startAttempts }, (scope) =>
        providers.get(spec.provider).prepare(spec, scope),
      ),

    startSandbox: ({ session, spec, generation, artifact }) =>
      inActivity({ finalAttempt: startAttempts, undoes: true }, async (scope) => {
        const request = { session, spec, generation, ...(artifact === undefined ? {} : { artifact }) };
        try {
          const handle = await providers.get(spec.provider).start(request, scope);
          // The first call then finds an open channel.
          deps.calls.pool.warm(handle);
          return { status: "started", handle };
        } catch (error) {
          if (!hasCode(error, "template-not-provisioned")) throw error;
          return { status: "template-not-provisioned", failure: error.toFailure() };
        }
      }),

    resumeSandbox: ({ handle }) =>
      inActivity({}, async (scope) => {
        const resumed = await providers.get(handle.provider).resume(handle, scope);
        deps.calls.pool.warm(resumed);
        return resumed;
      }),
  };
}

/** Stopping and removing, on the control queue. */
export function createEndingActivities(deps: ActivityDeps): Omit<ControlActivities, "killCall"> {
  const { providers } = deps;
  return {
    stopSandbox: ({ handle, graceMs, acknowledged }) =>
      inActivity({}, async (scope) => {
        // A stopped sandbox keeps its files for days; the output of answered calls needn't be among them.
        await acknowledge(
          deps.calls.pool,
          { handle, acknowledged },
          { timeoutMs: acknowledgeMs, signal: scope.signal },
        );
        // An engine that is stuck must not hold a worker that shuts down: the next attempt stops it once more.
        await abortable(providers.get(handle.provider).stop(handle, { graceMs }, scope), scope.signal);
      }),

    removeSandbox: ({ session, provider, upToGeneration }) =>
      inActivity({}, (scope) =>
        abortable(providers.get(provider).remove({ session, upToGeneration }, scope), scope.signal),
      ),

    setNetworkPolicy: ({ handle, network }) =>
      inActivity({}, (scope) => {
        // Signals reach a session unchecked, and workflow code has no schemas.
        const parsed = parse(setNetworkPolicySchema, { network }, "setNetworkPolicy");
        if (!parsed.ok) throw ProviderError.from(parsed.failure);
        return providers.get(handle.provider).setNetworkPolicy(handle, parsed.value.network, scope);
      }),
  };
}
