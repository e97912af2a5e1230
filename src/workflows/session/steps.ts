import { CancellationScope, condition } from "@temporalio/workflow";
import { hostIdPattern } from "../../contract/names.js";
import type { CancelledBy } from "../../contract/call.js";
import type { Failure } from "../../contract/refs.js";
import type { StartInput } from "../../contract/activities.js";
import type { ResolvedSpec } from "../../contract/spec.js";
import type { Handle } from "../../contract/sandbox.js";
import type { CallRecord } from "./call-book.js";
import type { CallRunner } from "./call-runner.js";
import { failureOf, isCancelled, toApplicationFailure } from "./failures.js";
import { HostLost, onHost } from "./host-contact.js";
import type { DeleteReason } from "./lifecycle.js";
import { building, control, placement } from "./proxies.js";
import type { SessionContext } from "./session-context.js";

/** The long steps of a session's life. Each gives way to a delete, and none of them throws. */
export interface Steps {
  place(): Promise<void>;
  start(): Promise<void>;
  resume(): Promise<void>;
  stop(wish: { graceMs: number; cancelQueued: boolean }): Promise<void>;
  setNetwork(): Promise<void>;
  /** Ends the calls and removes what was made. `done` only when the engine says it is gone. */
  clean(by: CancelledBy, failure?: Failure): Promise<"done" | "left-to-reaper">;
}

/** A delete takes 30 s at most, also on a host that doesn't answer: these three together. */
const settleMs = 5_000;
const killMs = 6_000;
const removeMs = 18_000;

/** What becomes of the session when a step can't be done now. */
type WhenUnavailable = "failed" | "stop-failed" | "resume-failed" | "rejected";

/** An engine that stays away is told after this time, and the step tried again; the session shows why. */
const stopMs = 5 * 60_000;
const networkMs = 60_000;

/** After its grace a stopped call is killed; this long the stop waits for the kill to be confirmed. */
const stopKillMs = 15_000;

export function createSteps(context: SessionContext, runner: CallRunner): Steps {
  const { state } = context;
  const { belongings } = state;

  async function place(): Promise<void> {
    const { session, placement: before } = belongings;
    const pinned = pinnedHost(belongings.spec);
    // Placed anew after the loss of a host: by then the spec is known with all that was filled in.
    const spec =
      before === undefined ? belongings.spec : { ...before.spec, ...(pinned ? { host: pinned } : {}) };
    const ask = () => placement(pinned).placeSession({ session, spec });
    await givingWay(
      () => (pinned === undefined ? ask() : onHost(context, pinned, ask)),
      (placed) => {
        belongings.placement = placed;
        if (belongings.artifact?.hostId !== placed.hostId) delete belongings.artifact;
        state.apply({ type: "placed", timeouts: placed.spec.timeouts, onLost: placed.spec.onLost });
      },
    );
  }

  async function start(): Promise<void> {
    await givingWay(makeSandbox, (handle) => {
      belongings.handle = handle;
      belongings.background = [];
      state.apply({ type: "started" });
    });
  }

  /** The warm path is one activity: only a host that lacks the template prepares it. */
  async function makeSandbox(): Promise<Handle> {
    const { hostId, spec } = current();
    const { session, artifact } = belongings;
    const request = { session, spec, generation: state.lifecycle.generation };
    const host = building(hostId, spec.timeouts.startMs);
    const start = (input: StartInput) => onHost(context, hostId, () => host.startSandbox(input));
    const warm = await start(artifact === undefined ? request : { ...request, artifact });
    if (warm.status === "started") return warm.handle;
    const prepared = await onHost(context, hostId, () => host.prepareTemplate({ session, spec }));
    belongings.artifact = prepared;
    const cold = await start({ ...request, artifact: prepared });
    if (cold.status === "started") return cold.handle;
    throw toApplicationFailure(cold.failure);
  }

  async function resume(): Promise<void> {
    const { handle } = belongings;
    const { spec } = current();
    if (handle === undefined) throw new Error("nothing to resume");
    state.apply({ type: "resuming" });
    await givingWay(
      () =>
        onHost(context, handle.hostId, () =>
          building(handle.hostId, spec.timeouts.startMs).resumeSandbox({ handle, spec }),
        ),
      (resumed) => {
        belongings.handle = resumed;
        belongings.background = [];
        state.apply({ type: "started" });
      },
      "resume-failed",
    );
  }

  async function stop(wish: { graceMs: number; cancelQueued: boolean }): Promise<void> {
    const { generation } = state.lifecycle;
    state.apply({ type: "stopping" });
    if (wish.cancelQueued) cancelAll(state.calls.queued(), "stop");
    if (wish.graceMs > 0 && state.calls.running().length > 0) {
      await condition(() => state.calls.running().length === 0 || context.isEndDue(), wish.graceMs);
    }
    if (!context.isEndDue()) await killRunning("stop", stopKillMs);
    // A call may have reported in the meantime that there is nothing left to stop.
    if (context.isEndDue() || state.lifecycle.generation !== generation) return;
    const { handle } = belongings;
    if (handle === undefined) throw new Error("nothing to stop");
    const request = {
      handle,
      graceMs: Math.min(wish.graceMs, 10_000),
      acknowledged: state.acknowledge,
    };
    await givingWay(
      () =>
        onHost(context, handle.hostId, () =>
          control(handle.hostId, { scheduleToCloseMs: stopMs }).stopSandbox(request),
        ),
      () => {
        state.acknowledge = [];
        belongings.background = [];
        state.apply({ type: "stopped" });
      },
      "stop-failed",
    );
  }

  async function setNetwork(): Promise<void> {
    const { handle } = belongings;
    const { network } = state.lifecycle.wanted;
    state.apply({ type: "network-set" });
    if (handle === undefined || network === undefined) return;
    await givingWay(
      () =>
        onHost(context, handle.hostId, () =>
          control(handle.hostId, { scheduleToCloseMs: networkMs }).setNetworkPolicy({ handle, network }),
        ),
      (changed) => {
        belongings.handle = changed;
        belongings.network = network;
      },
      // The policy stays as it was and the session goes on; whoever asked sees it among the rejected.
      "rejected",
    );
  }

  async function clean(by: CancelledBy, failure?: Failure): Promise<"done" | "left-to-reaper"> {
    if (failure === undefined) {
      cancelAll(state.calls.queued(), by);
      await killRunning(by, killMs);
    }
    for (const record of [...state.calls.queued(), ...state.calls.running()]) {
      runner.abandon(record, failure === undefined ? { kind: "cancelled", by } : givenUp(record, failure));
    }
    return removeSandbox();
  }

  async function removeSandbox(): Promise<"done" | "left-to-reaper"> {
    const { placement: placed, session } = belongings;
    if (placed === undefined) return "done";
    try {
      await control(placed.hostId, { scheduleToCloseMs: removeMs }).removeSandbox({
        session,
        provider: placed.spec.provider,
        upToGeneration: state.lifecycle.generation,
      });
      return belongings.isLeftBehind === true ? "left-to-reaper" : "done";
    } catch {
      // The host doesn't answer, or can't remove it now: its reaper does, because this workflow is closed.
      return "left-to-reaper";
    }
  }

  async function killRunning(by: CancelledBy, patienceMs: number): Promise<void> {
    if (state.calls.running().length === 0) return;
    cancelAll(state.calls.running(), by);
    await condition(() => state.calls.running().length === 0, patienceMs);
    for (const record of state.calls.running()) {
      runner.abandon(record, { kind: "cancelled", by });
    }
  }

  function cancelAll(records: readonly CallRecord[], by: CancelledBy): void {
    for (const record of [...records]) runner.cancel(record, by);
  }

  /**
   * Runs a step until it is done or a delete is due. Then the step is cancelled and has a moment to clean up
   * after itself; what it makes later still is removed by its own host, or by the reaper.
   */
  async function givingWay<T>(
    step: () => Promise<T>,
    onDone: (value: T) => void,
    whenUnavailable: WhenUnavailable = "failed",
  ): Promise<void> {
    const scope = new CancellationScope();
    const progress = { isSettled: false };
    const work = scope
      .run(step)
      .then(onDone, (error: unknown) => {
        fail(error, whenUnavailable);
      })
      .then(() => {
        progress.isSettled = true;
      });
    await condition(() => progress.isSettled || context.isEndDue());
    if (progress.isSettled) return work;
    scope.cancel();
    await condition(() => progress.isSettled, settleMs);
  }

  function fail(error: unknown, whenUnavailable: WhenUnavailable): void {
    if (isCancelled(error)) return;
    if (error instanceof HostLost) {
      belongings.isLeftBehind = true;
      state.apply({ type: "lost", failure: error.failure, host: true });
      return;
    }
    const failure = failureOf(error);
    if (failure.code === "session-lost") state.apply({ type: "lost", failure });
    else if (whenUnavailable === "rejected") state.reject(failure);
    else state.apply({ type: failure.code === "unavailable" ? whenUnavailable : "failed", failure });
  }

  /** The placement, with the network as it is by now. */
  function current(): { hostId: string; spec: ResolvedSpec } {
    const { placement: placed, network } = belongings;
    if (placed === undefined) throw new Error("the session has no host yet");
    return {
      hostId: placed.hostId,
      spec: network === undefined ? placed.spec : { ...placed.spec, network },
    };
  }

  return { place, start, resume, stop, setNetwork, clean };
}

/** A call that never ran gets the session's failure; one that ran is lost with its sandbox. */
function givenUp(record: CallRecord, failure: Failure) {
  return record.status === "running"
    ? ({ kind: "lost", reason: failure.message } as const)
    : ({ kind: "error", error: failure } as const);
}

/** The spec isn't checked yet, so this takes nothing for granted. */
function pinnedHost(spec: unknown): string | undefined {
  if (typeof spec !== "object" || spec === null) return undefined;
  const { host } = spec as { host?: unknown };
  // Checked here already, because it names a task queue before the placement has looked at the spec.
  return typeof host === "string" && hostIdPattern.test(host) ? host : undefined;
}

export const cancelledBy = (reason: DeleteReason): CancelledBy =>
  reason === "workflow-cancel" ? "workflow-cancel" : "delete";
