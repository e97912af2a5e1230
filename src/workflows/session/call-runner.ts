import { CancellationScope } from "@temporalio/workflow";
import type { CallDispatch, CallEnding } from "../../contract/activities.js";
import type { CancelledBy } from "../../contract/call.js";
import type { Failure } from "../../contract/refs.js";
import type { CallRecord } from "./call-book.js";
import { failureOf, isCancelled } from "./failures.js";
import { HostLost, onHost } from "./host-contact.js";
import { following } from "./proxies.js";
import type { SessionContext } from "./session-context.js";

/** Carries out calls. Driven by the conductor. */
export interface CallRunner {
  /** Starts queued calls; each is one activity on the host's queue, which claims, follows and answers. */
  start(records: readonly CallRecord[]): void;
  /** Attaches to a call that was started before, by this run or an earlier one. */
  follow(record: CallRecord): void;
  /** Takes in what has come of the calls since: ends them, or gives the sandbox up. */
  settle(): void;
  /** Only notes it; a queued call ends here, a running one when it was killed. */
  cancel(record: CallRecord, by: CancelledBy): void;
  /** Stops following and ends the call with what is known. Nothing is done inside the sandbox. */
  abandon(record: CallRecord, outcome: CallEnding["outcome"]): void;
}

const acknowledgedAtOnce = 50;

type Arrival = { record: CallRecord } & ({ ending: CallEnding } | { error: unknown });

export function createCallRunner(context: SessionContext): CallRunner {
  const { state } = context;
  const follows = new Map<string, CancellationScope>();
  const arrivals: Arrival[] = [];

  function start(records: readonly CallRecord[]): void {
    for (const record of records) {
      state.calls.markRunning(record, state.lifecycle.generation, context.now());
      follow(record);
    }
    state.apply({ type: "activity" });
  }

  function follow(record: CallRecord): void {
    const scope = new CancellationScope();
    follows.set(record.callId, scope);
    const dispatch = {
      ...common(),
      call: callOf(record),
      acknowledged: state.acknowledge.slice(0, acknowledgedAtOnce),
    };
    const options = { summary: summaryOf(record) };
    void scope
      .run(() =>
        onHost(context, dispatch.handle.hostId, () =>
          following(dispatch.handle.hostId).followCall.executeWithOptions(options, [dispatch]),
        ),
      )
      .then(
        (ending) => {
          forget(ending.acknowledged ?? []);
          arrivals.push({ record, ending });
        },
        (error: unknown) => {
          arrivals.push({ record, error });
        },
      )
      .then(() => {
        follows.delete(record.callId);
        context.changed();
      });
  }

  function settle(): void {
    for (const arrival of arrivals.splice(0)) {
      if ("ending" in arrival) end(arrival.record, arrival.ending);
      else fail(arrival.record, arrival.error);
    }
  }

  function end(record: CallRecord, ending: CallEnding): void {
    context.finish(record, ending);
    if (ending.background !== undefined) state.belongings.background = ending.background;
    if (ending.sandboxLost !== undefined) lose(record, ending.sandboxLost);
  }

  function fail(record: CallRecord, error: unknown): void {
    // Given up by `abandon`, which has told the caller already.
    if (isCancelled(error)) return;
    const isHostLost = error instanceof HostLost;
    const failure = isHostLost ? error.failure : failureOf(error);
    if (!isHostLost && failure.code !== "session-lost") {
      context.finish(record, endingOf(record, { kind: "error", error: failure }));
      return;
    }
    context.finish(record, endingOf(record, { kind: "lost", reason: failure.message }));
    lose(record, failure, isHostLost);
  }

  /** The sandbox is gone, and with it all that ran in it. */
  function lose(reporter: CallRecord, failure: Failure, host = false): void {
    // Several calls report the same loss; only the first may cost a generation.
    if (reporter.generation !== state.lifecycle.generation) return;
    for (const record of state.calls.running()) abandon(record, { kind: "lost", reason: failure.message });
    if (host) state.belongings.isLeftBehind = true;
    state.apply({ type: "lost", failure, host });
  }

  function cancel(record: CallRecord, by: CancelledBy): void {
    if (record.status === "queued") context.finish(record, endingOf(record, { kind: "cancelled", by }));
    if (record.status === "running") record.cancelledBy ??= by;
    context.changed();
  }

  function abandon(record: CallRecord, outcome: CallEnding["outcome"]): void {
    context.finish(record, endingOf(record, outcome));
    follows.get(record.callId)?.cancel();
  }

  function common(): Omit<CallDispatch, "call" | "acknowledged"> {
    const { handle, placement } = state.belongings;
    if (handle === undefined || placement === undefined) throw new Error("no sandbox to dispatch to");
    const { env, secrets, workspace, limits } = placement.spec;
    return { handle, env, secrets, workspace, outputBytes: limits.outputBytes };
  }

  function forget(acknowledged: readonly string[]): void {
    const taken = new Set(acknowledged);
    state.acknowledge = state.acknowledge.filter((callId) => !taken.has(callId));
  }

  const endingOf = (record: CallRecord, outcome: CallEnding["outcome"]) => ({
    outcome,
    startedAtMs: record.startedAtMs ?? context.now(),
    endedAtMs: context.now(),
  });

  return { start, follow, settle, cancel, abandon };
}

const callOf = (record: CallRecord): CallDispatch["call"] => ({
  callId: record.callId,
  tool: record.tool,
  input: record.input ?? {},
  ...(record.timeoutMs === undefined ? {} : { timeoutMs: record.timeoutMs }),
});

/** For Temporal's UI. Names only: a command may hold what is nobody's business. */
const summaryOf = (record: CallRecord): string => `${record.tool} ${record.callId}`;
