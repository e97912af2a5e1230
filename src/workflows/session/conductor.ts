import { condition } from "@temporalio/workflow";
import { defaultMaxConcurrentCalls } from "../../contract/names.js";
import type { Failure } from "../../contract/refs.js";
import type { SessionSummary } from "../../contract/state.js";
import { createAlarm } from "./alarm.js";
import type { CallRunner } from "./call-runner.js";
import { createDisplay } from "./display.js";
import { createKiller } from "./killer.js";
import type { DeleteReason } from "./lifecycle.js";
import { nextStep, type Step } from "./next-step.js";
import type { Replies } from "./replies.js";
import { isRollOverDue } from "./roll-over.js";
import type { SessionContext } from "./session-context.js";
import { cancelledBy, createSteps } from "./steps.js";

/** How a run ends. */
export type End =
  | { kind: "roll-over" }
  | { kind: "deleted"; reason: DeleteReason; cleanup: SessionSummary["cleanup"] }
  | { kind: "failed"; failure: Failure };

/**
 * The one loop that gives commands. It looks whenever something has changed, takes in what has come, and does what
 * `nextStep` says. A long step runs beside it, so that calls, replies and kills go on meanwhile.
 */
export async function conduct(context: SessionContext, runner: CallRunner, replies: Replies): Promise<End> {
  const { state } = context;
  const steps = createSteps(context, runner);
  const killer = createKiller(context);
  const display = createDisplay(state);
  const alarm = createAlarm({
    now: () => context.now(),
    onRing: () => {
      context.changed();
    },
  });
  const progress: { end?: End; isBusy: boolean } = { isBusy: false };
  for (const record of state.calls.running()) runner.follow(record);

  for (;;) {
    const seen = context.changes();
    runner.settle();
    const killAtMs = killer.kill();
    replies.send();
    state.calls.trim(isAwaited);
    display.refresh();
    if (progress.end !== undefined) return progress.end;
    let untilMs = Math.min(killAtMs, lifetimeEndMs());
    if (!progress.isBusy) {
      if (isRollOverDue(context)) {
        context.rollingOver = true;
        return { kind: "roll-over" };
      }
      const step = nextStep(state.lifecycle, load(), { nowMs: context.now(), maxConcurrentCalls: most() });
      if (step.do === "wait") untilMs = Math.min(untilMs, step.untilMs);
      else if (step.do === "dispatch") runner.start(state.calls.queued().slice(0, step.calls));
      else begin(step);
    }
    for (const { deadlineMs } of context.held) untilMs = Math.min(untilMs, deadlineMs);
    alarm.arm(untilMs);
    await condition(() => context.changes() !== seen);
  }

  function begin(step: LongStep): void {
    progress.isBusy = true;
    void perform(step).then((end) => {
      if (end !== undefined) progress.end = end;
      progress.isBusy = false;
      context.changed();
    });
  }

  /** Resolves to the run's end, if the step was its last. */
  async function perform(step: LongStep): Promise<End | undefined> {
    switch (step.do) {
      case "place":
        await steps.place();
        return undefined;
      case "start":
        await steps.start();
        return undefined;
      case "resume":
        await steps.resume();
        return undefined;
      case "stop":
        await steps.stop(step);
        return undefined;
      case "set-network":
        await steps.setNetwork();
        return undefined;
      case "delete": {
        state.apply({ type: "deleting", reason: step.reason });
        context.changed();
        const cleanup = await steps.clean(cancelledBy(step.reason));
        state.apply({ type: "deleted" });
        return { kind: "deleted", reason: step.reason, cleanup };
      }
      case "end": {
        const failure = state.lifecycle.failure ?? { code: "internal", message: "the session failed" };
        await steps.clean("delete", failure);
        return { kind: "failed", failure };
      }
    }
  }

  function load() {
    return {
      queued: state.calls.queued().length,
      running: state.calls.running().length,
    };
  }

  function most(): number {
    return state.belongings.placement?.spec.maxConcurrentCalls ?? defaultMaxConcurrentCalls;
  }

  function lifetimeEndMs(): number {
    return state.lifecycle.createdAtMs + state.lifecycle.timeouts.maxLifetimeMs;
  }

  function isAwaited(callId: string): boolean {
    return [...context.held].some((held) => held.callId === callId);
  }
}

type LongStep = Exclude<Step, { do: "wait" } | { do: "dispatch" }>;
