import { CancelledFailure, CancellationScope, condition, workflowInfo } from "@temporalio/workflow";
import type { CallDispatch, CallEnding, CallStep } from "../../contract/activities.js";
import type { CancelledBy } from "../../contract/call.js";
import type { Failure } from "../../contract/refs.js";
import type { CallRecord } from "./call-book.js";
import { failureOf, isCancelled } from "./failures.js";
import { HostLost, onHost } from "./host-contact.js";
import { control, fast, following } from "./proxies.js";
import type { SessionContext } from "./session-context.js";

/** Carries out calls: fast path, then following; cancelling; giving up. One object per run. */
export interface CallRunner {
  /** Starts queued calls, together. Their ends come by themselves. */
  start(records: readonly CallRecord[]): void;
  /** Takes up a call that an earlier run started. */
  takeUp(record: CallRecord): void;
  /** Ends it inside the sandbox, again and again until it has ended. */
  cancel(record: CallRecord, by: CancelledBy): void;
  /** Stops following and ends the call with what is known. Nothing is done inside the sandbox. */
  abandon(record: CallRecord, ending: Pick<CallEnding, "outcome">): void;
}

const acknowledgedAtOnce = 50;

/** Between two attempts to kill: the first may have met a call that was not claimed yet. */
const killPausesMs = [1_000, 2_000, 5_000, 15_000, 30_000];

export function createCallRunner(context: SessionContext): CallRunner {
  const { state } = context;
  const follows = new Map<string, CancellationScope>();

  function start(records: readonly CallRecord[]): void {
    for (const record of records) {
      state.calls.markRunning(record, state.lifecycle.generation, context.now());
    }
    state.apply({ type: "activity" });
    const batch = tryAll(records);
    records.forEach((record, index) => {
      settle(record, finishOrFollow(record, batch, index));
    });
  }

  function takeUp(record: CallRecord): void {
    settle(record, follow(record));
    if (record.cancelledBy !== undefined) void killUntilDone(record, record.cancelledBy);
  }

  /** The one place where a call's end comes in, whichever way it came. */
  function settle(record: CallRecord, ending: Promise<CallEnding>): void {
    void ending
      .then(
        (end) => {
          context.finish(record, end);
          if (end.background !== undefined) state.belongings.background = end.background;
          if (end.sandboxLost !== undefined) lose(record, end.sandboxLost);
        },
        (error: unknown) => {
          // Given up by `abandon`, which has told the caller already.
          if (isCancelled(error)) return;
          const failure = error instanceof HostLost ? error.failure : failureOf(error);
          if (failure.code !== "session-lost" && !(error instanceof HostLost)) {
            context.finish(record, endingOf(record, { kind: "error", error: failure }));
            return;
          }
          context.finish(record, endingOf(record, { kind: "lost", reason: failure.message }));
          lose(record, failure, error instanceof HostLost);
        },
      )
      .then(() => {
        context.changed();
      });
  }

  /** One local activity for the whole batch; see `FastActivities`. */
  async function tryAll(records: readonly CallRecord[]): Promise<readonly CallStep[]> {
    const acknowledged = durablyEnded();
    const batch = { ...common(), calls: records.map(callOf), acknowledged };
    context.isTrying = true;
    const steps = await fast.tryCalls
      .executeWithOptions({ summary: records.map(summaryOf).join(", ").slice(0, 200) }, [batch])
      // A worker that hangs or is shut down: the host queue takes over, and the claims tell what was done.
      .catch((): CallStep[] => []);
    context.isTrying = false;
    context.changed();
    if (steps.some((step) => step.status !== "not-here")) forget(acknowledged);
    return steps;
  }

  async function finishOrFollow(
    record: CallRecord,
    batch: Promise<readonly CallStep[]>,
    index: number,
  ): Promise<CallEnding> {
    const step = (await batch)[index];
    if (step?.status === "done") return step.ending;
    // Given up meanwhile: nobody would hear what a follower finds.
    if (record.status === "done") throw new CancelledFailure("given up");
    return follow(record);
  }

  async function follow(record: CallRecord): Promise<CallEnding> {
    const scope = new CancellationScope();
    follows.set(record.callId, scope);
    const acknowledged = durablyEnded();
    const dispatch = { ...common(), call: callOf(record), acknowledged };
    try {
      const ending = await scope.run(() =>
        onHost(context, () =>
          following(context.hostId()).followCall.executeWithOptions({ summary: summaryOf(record) }, [
            dispatch,
          ]),
        ),
      );
      forget(acknowledged);
      return ending;
    } finally {
      follows.delete(record.callId);
    }
  }

  /** The sandbox is gone, and with it all that ran in it. */
  function lose(reporter: CallRecord, failure: Failure, host = false): void {
    // Several calls report the same loss; only the first may cost a generation.
    if (reporter.generation !== state.lifecycle.generation) return;
    for (const record of state.calls.running()) {
      abandon(record, { outcome: { kind: "lost", reason: failure.message } });
    }
    state.apply({ type: "lost", failure, host });
    context.changed();
  }

  function cancel(record: CallRecord, by: CancelledBy): void {
    if (record.status === "done") return;
    if (record.status === "queued") {
      context.finish(record, endingOf(record, { kind: "cancelled", by }));
      return;
    }
    const isFirst = record.cancelledBy === undefined;
    record.cancelledBy ??= by;
    if (isFirst) void killUntilDone(record, by);
  }

  async function killUntilDone(record: CallRecord, by: CancelledBy): Promise<void> {
    for (let attempt = 0; record.status === "running"; attempt += 1) {
      const { handle } = state.belongings;
      if (handle === undefined || handle.generation.number !== record.generation) return;
      await control(handle.hostId, { scheduleToCloseMs: 20_000 })
        .killCall.executeWithOptions({ summary: `kill ${record.callId}` }, [
          { handle, callId: record.callId, by },
        ])
        // Tried again below; a host that is gone is noticed by whoever follows the call.
        .catch((error: unknown) => failureOf(error));
      const pauseMs = killPausesMs[Math.min(attempt, killPausesMs.length - 1)] ?? 30_000;
      await condition(() => record.status === "done" || context.rollingOver, pauseMs);
      if (context.rollingOver) return;
    }
  }

  function abandon(record: CallRecord, { outcome }: Pick<CallEnding, "outcome">): void {
    context.finish(record, endingOf(record, outcome));
    follows.get(record.callId)?.cancel();
  }

  function common(): Omit<CallDispatch, "call" | "acknowledged"> {
    const { handle, placement } = state.belongings;
    if (handle === undefined || placement === undefined) throw new Error("no sandbox to dispatch to");
    const { env, secrets, workspace, limits } = placement.spec;
    return { handle, env, secrets, workspace, outputBytes: limits.outputBytes };
  }

  /**
   * An end that came in during this very task is not in history yet: should the worker die now, the call is
   * asked for again, and its record must still be there.
   */
  function durablyEnded(): string[] {
    const { historyLength } = workflowInfo();
    return state.acknowledge
      .filter((entry) => entry.endedAtEvent < historyLength)
      .slice(0, acknowledgedAtOnce)
      .map((entry) => entry.callId);
  }

  function forget(acknowledged: readonly string[]): void {
    const sent = new Set(acknowledged);
    state.acknowledge = state.acknowledge.filter((entry) => !sent.has(entry.callId));
  }

  const endingOf = (record: CallRecord, outcome: CallEnding["outcome"]) => ({
    outcome,
    startedAtMs: record.startedAtMs ?? context.now(),
    endedAtMs: context.now(),
  });

  return { start, takeUp, cancel, abandon };
}

const callOf = (record: CallRecord): CallDispatch["call"] => ({
  callId: record.callId,
  tool: record.tool,
  input: record.input ?? {},
  ...(record.timeoutMs === undefined ? {} : { timeoutMs: record.timeoutMs }),
});

/** For Temporal's UI. Names only: a command may hold what is nobody's business. */
const summaryOf = (record: CallRecord): string => `${record.tool} ${record.callId}`;
