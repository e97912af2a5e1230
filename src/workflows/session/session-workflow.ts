import {
  allHandlersFinished,
  CancellationScope,
  CancelledFailure,
  condition,
  continueAsNew,
  workflowInfo,
} from "@temporalio/workflow";
import { limits } from "../../contract/names.js";
import type { SessionSpec } from "../../contract/spec.js";
import type { SessionSummary } from "../../contract/state.js";
import { registerCallHandlers } from "./call-handlers.js";
import { createCallRunner } from "./call-runner.js";
import { conduct } from "./conductor.js";
import { registerControlHandlers } from "./control-handlers.js";
import { toApplicationFailure } from "./failures.js";
import { isTooDeep } from "./json-size.js";
import { createReplies } from "./replies.js";
import { createSessionContext } from "./session-context.js";
import { createSessionState, type Belongings, type CarriedSession } from "./session-state.js";

/**
 * One sandbox session, from its spec to its removal. Handlers write down what is wanted, `nextStep` decides what
 * comes next, the conductor does it.
 *
 * @param spec what the user sent; checked at placement
 * @param carried from the run before, at a roll-over
 * @throws ApplicationFailure whose type is the failure's code, when the session failed
 */
export async function sandboxSession(spec: SessionSpec, carried?: CarriedSession): Promise<SessionSummary> {
  const info = workflowInfo();
  // Inside workflow code this is Temporal's clock: the same in a replay.
  const now = (): number => Date.now();
  const state = createSessionState({
    session: { sessionId: info.workflowId, runId: info.firstExecutionRunId },
    spec: isObject(spec) && !isTooDeep(spec, limits.nesting) ? spec : ({} as SessionSpec),
    carried,
    now,
  });
  const context = createSessionContext(state, { now });
  const runner = createCallRunner(context);
  const replies = createReplies(context);
  registerCallHandlers(context);
  registerControlHandlers(context, runner);
  CancellationScope.current().cancelRequested.catch(() => {
    state.apply({ type: "delete-wanted", reason: "workflow-cancel" });
    context.changed();
  });

  // A cancelled session still has to remove its sandbox and to answer: nothing of it is cancelled from outside.
  return CancellationScope.nonCancellable(async () => {
    const end = await conduct(context, runner, replies);
    // Calls that are refused this late are answered as well.
    while (!replies.areSettled() || !allHandlersFinished()) {
      replies.send();
      const seen = context.changes();
      await condition(() => context.changes() !== seen || (replies.areSettled() && allHandlersFinished()));
    }
    switch (end.kind) {
      case "roll-over":
        return continueAsNew<typeof sandboxSession>(carriedSpec(state.belongings), state.carry());
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

/** A placed session carries its spec with the placement; once more in full would double what a roll-over weighs. */
const carriedSpec = ({ spec, placement }: Belongings): SessionSpec =>
  placement === undefined
    ? spec
    : { provider: placement.spec.provider, ...(spec.host === undefined ? {} : { host: spec.host }) };

const isObject = (value: unknown): value is SessionSpec => typeof value === "object" && value !== null;
