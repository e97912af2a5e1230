import {
  CancellationScope,
  CancelledFailure,
  condition,
  continueAsNew,
  workflowInfo,
} from "@temporalio/workflow";
import { defaultMaxConcurrentCalls } from "../../contract/names.js";
import type { Failure } from "../../contract/refs.js";
import type { SessionSpec } from "../../contract/spec.js";
import type { SessionSummary } from "../../contract/state.js";
import { registerCallHandlers } from "./call-handlers.js";
import { createCallRunner, type CallRunner } from "./call-runner.js";
import { registerControlHandlers } from "./control-handlers.js";
import { createDisplay } from "./display.js";
import { toApplicationFailure } from "./failures.js";
import type { DeleteReason } from "./lifecycle.js";
import { nextStep } from "./next-step.js";
import { isRollOverDue } from "./roll-over.js";
import { createSessionContext, type SessionContext } from "./session-context.js";
import { createSessionState, type CarriedSession } from "./session-state.js";
import { cancelledBy, createSteps, type Steps } from "./steps.js";

/**
 * One sandbox session, from its spec to its removal. Handlers write down what is wanted, `nextStep` decides what
 * comes next, this loop does it.
 *
 * @param spec what the user sent; checked at placement
 * @param carried from the run before, at a roll-over
 * @throws ApplicationFailure whose type is the failure's code, when the session failed
 */
export async function sandboxSession(spec: SessionSpec, carried?: CarriedSession): Promise<SessionSummary> {
  const info = workflowInfo();
  const state = createSessionState({
    session: { sessionId: info.workflowId, runId: info.firstExecutionRunId },
    spec: isObject(spec) ? spec : ({} as SessionSpec),
    carried,
    now: () => Date.now(),
  });
  const context = createSessionContext(state);
  const runner = createCallRunner(context);
  const steps = createSteps(context, runner);
  registerCallHandlers(context);
  registerControlHandlers(context, runner);
  CancellationScope.current().cancelRequested.catch(() => {
    state.apply({ type: "delete-wanted", reason: "workflow-cancel" });
    context.changed();
  });
  // A cancelled session still has to remove its sandbox and to answer: nothing of it is cancelled from outside.
  return CancellationScope.nonCancellable(async () => {
    for (const record of state.calls.running()) runner.takeUp(record);
    const end = await live(context, runner, steps);
    await condition(() => context.isQuiet());
    switch (end.kind) {
      case "roll-over":
        return continueAsNew<typeof sandboxSession>(spec, state.carry());
      case "failed":
        throw toApplicationFailure(end.failure);
      case "deleted":
        if (end.reason === "workflow-cancel") throw new CancelledFailure("deleted because it was cancelled");
        return {
          sessionId: info.workflowId,
          status: "deleted",
          reason: end.reason,
          cleanup: end.cleanup,
          generations: state.lifecycle.generation,
          calls: state.calls.doneCount(),
        };
    }
  });
}

type End =
  | { kind: "roll-over" }
  | { kind: "deleted"; reason: DeleteReason; cleanup: SessionSummary["cleanup"] }
  | { kind: "failed"; failure: Failure };

async function live(context: SessionContext, runner: CallRunner, steps: Steps): Promise<End> {
  const { state } = context;
  const display = createDisplay(state);
  for (;;) {
    const seen = context.changes();
    state.calls.trim((callId) => context.awaited.has(callId));
    display.refresh();
    if (isRollOverDue(context)) {
      context.rollingOver = true;
      context.changed();
      return { kind: "roll-over" };
    }
    const load = {
      queued: state.calls.queued().length,
      running: state.calls.running().length,
      isTrying: context.isTrying,
    };
    const maxConcurrentCalls =
      state.belongings.placement?.spec.maxConcurrentCalls ?? defaultMaxConcurrentCalls;
    const step = nextStep(state.lifecycle, load, { nowMs: context.now(), maxConcurrentCalls });
    switch (step.do) {
      case "place":
        await steps.place();
        break;
      case "start":
        await steps.start();
        break;
      case "resume":
        await steps.resume();
        break;
      case "stop":
        await steps.stop(step);
        break;
      case "set-network":
        await steps.setNetwork();
        break;
      case "dispatch":
        runner.start(state.calls.queued().slice(0, step.calls));
        break;
      case "delete": {
        state.apply({ type: "deleting", reason: step.reason });
        display.refresh();
        const cleanup = await steps.clean(cancelledBy(step.reason));
        state.apply({ type: "deleted" });
        display.refresh();
        return { kind: "deleted", reason: step.reason, cleanup };
      }
      case "end": {
        const failure = state.lifecycle.failure ?? { code: "internal", message: "the session failed" };
        await steps.clean("delete", failure);
        return { kind: "failed", failure };
      }
      case "wait":
        context.alarm.arm(step.untilMs);
        await condition(() => context.changes() !== seen);
    }
  }
}

const isObject = (value: unknown): value is SessionSpec => typeof value === "object" && value !== null;
