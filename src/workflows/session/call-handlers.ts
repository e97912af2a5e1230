import { condition, setHandler } from "@temporalio/workflow";
import type { Answer, CallRequest, ReplyTo } from "../../contract/call.js";
import { limits } from "../../contract/names.js";
import type { Failure } from "../../contract/refs.js";
import type { CallRecord } from "./call-book.js";
import { checkAwait, checkCall, replyAddress } from "./envelope.js";
import { toApplicationFailure } from "./failures.js";
import { awaitCallUpdate, callQuery, callsQuery, callToolSignal, callToolUpdate } from "./messages.js";
import type { SessionContext } from "./session-context.js";
import { answerOf, callSummaries, refusal } from "./views.js";

/** callTool, awaitCall and the queries about calls. Handlers never throw; validators do, and refuse so. */
export function registerCallHandlers(context: SessionContext): void {
  const { state } = context;
  const { sessionId } = state.belongings.session;

  setHandler(callToolSignal, (value) => {
    const checked = checkCall(value);
    const accepted = checked.ok ? accept(checked.value) : { failure: checked.failure };
    if ("failure" in accepted) {
      refuse(value, accepted.failure);
    } else if (checked.ok && accepted.record.status === "done") {
      answerAgain(accepted.record, checked.value.replyTo);
    }
    context.changed();
  });

  setHandler(
    callToolUpdate,
    async (value) => {
      context.updates += 1;
      const checked = checkCall(value);
      // The validator ran just before, with nothing between, and has refused whatever this would.
      if (!checked.ok) throw toApplicationFailure(checked.failure);
      const accepted = accept(checked.value);
      if ("failure" in accepted) throw toApplicationFailure(accepted.failure);
      context.changed();
      return heldAnswer(accepted.record, checked.value.waitMs);
    },
    {
      validator: (value) => {
        const checked = checkCall(value);
        if (!checked.ok) throw toApplicationFailure(checked.failure);
        const failure = tooManyHeld() ?? state.calls.refusalOf(checked.value) ?? closed(checked.value.callId);
        if (failure !== undefined) throw toApplicationFailure(failure);
      },
    },
  );

  setHandler(
    awaitCallUpdate,
    async (value) => {
      context.updates += 1;
      const checked = checkAwait(value);
      if (!checked.ok) throw toApplicationFailure(checked.failure);
      const record = state.calls.get(checked.value.callId);
      if (record === undefined) throw toApplicationFailure(unknownCall(checked.value.callId));
      return heldAnswer(record, checked.value.waitMs);
    },
    {
      validator: (value) => {
        const checked = checkAwait(value);
        if (!checked.ok) throw toApplicationFailure(checked.failure);
        const { callId } = checked.value;
        const failure = tooManyHeld() ?? (state.calls.get(callId) ? undefined : unknownCall(callId));
        if (failure !== undefined) throw toApplicationFailure(failure);
      },
    },
  );

  setHandler(callQuery, (value) => {
    const record = typeof value === "string" ? state.calls.get(value) : undefined;
    return record === undefined ? null : answerOf(sessionId, record);
  });
  setHandler(callsQuery, () => callSummaries(state.calls));

  function accept(request: CallRequest): { record: CallRecord } | { failure: Failure } {
    const failure = closed(request.callId);
    if (failure !== undefined) return { failure };
    const accepted = state.calls.accept(request, context.now());
    if (accepted.kind === "refused") return { failure: accepted.failure };
    if (accepted.kind === "new") state.apply({ type: "activity" });
    return { record: accepted.record };
  }

  /** Waits for the end, for the caller's patience, or for the roll-over, whichever comes first. */
  async function heldAnswer(record: CallRecord, waitMs: number): Promise<Answer> {
    const held = { callId: record.callId, deadlineMs: context.now() + waitMs };
    context.held.add(held);
    context.changed();
    await condition(
      () => record.status === "done" || context.rollingOver || context.now() >= held.deadlineMs,
    );
    context.held.delete(held);
    return answerOf(sessionId, record);
  }

  function tooManyHeld(): Failure | undefined {
    const held = context.held.size;
    if (held < limits.heldUpdates) return undefined;
    return {
      code: "busy",
      message: `${held} updates of session ${sessionId} are waiting for answers, which is the most`,
      hint: "Send the call as a signal and ask for its answer with the query `call`, or try again later.",
    };
  }

  function closed(callId: string): Failure | undefined {
    const { status, wanted } = state.lifecycle;
    const isClosing = status === "deleting" || status === "deleted" || status === "failed";
    if (!isClosing && wanted.delete === undefined) return undefined;
    if (state.calls.get(callId) !== undefined) return undefined;
    return {
      code: "closed",
      message: `session ${sessionId} is ${isClosing ? status : "deleting"}`,
      hint: "Start a new session.",
    };
  }

  const unknownCall = (callId: string): Failure => ({
    code: "not-found",
    field: "callId",
    message: `session ${sessionId} knows no call ${callId}`,
    hint: "Send it with callTool; calls beyond the last 1,000 are forgotten.",
  });

  function refuse(value: unknown, failure: Failure): void {
    state.reject(failure);
    const address = replyAddress(value);
    if (address === undefined) return;
    const answer = refusal(sessionId, address, failure, context.now());
    state.outbox.push({ replyTo: address.replyTo, answer });
  }

  function answerAgain(record: CallRecord, replyTo: ReplyTo | undefined): void {
    if (replyTo === undefined) return;
    state.outbox.push({ replyTo, answer: answerOf(sessionId, record) });
  }
}
