import { setTimeout as sleep } from "node:timers/promises";
import type { WorkflowHandle } from "@temporalio/client";
import { answerSchema, type Answer, type CallRequest } from "../contract/call.js";
import { limits, messageNames, queryNames } from "../contract/names.js";
import { ask, type ClientContext } from "./client-context.js";
import { HoldfastError } from "./holdfast-error.js";
import { isGone, isTransient, translateError } from "./translate-error.js";

export interface WaitOptions {
  /** Resolves with the answer as it is after so long (`queued`, `running`). Default: waits until it is done. */
  readonly waitMs?: number;
  /** Ends the waiting at once with the signal's reason, never the call. */
  readonly signal?: AbortSignal;
}

/** One session, as its calls see it. */
export interface CallTarget {
  readonly context: ClientContext;
  readonly sessionId: string;
  readonly handle: WorkflowHandle;
  /** Updates that this handle holds open now. */
  held: number;
}

/**
 * Sends a call and waits for its answer. Whatever happens on the way, the call is sent again under the same
 * callId: the session starts it once. Where updates are refused, a signal carries it and queries fetch the answer.
 */
export function sendCall(target: CallTarget, request: CallRequest, wait: WaitOptions): Promise<Answer> {
  return waitForAnswer(target, request.callId, wait, request);
}

/** Waits for the answer of a call that was sent before, by anybody. */
export function awaitCall(target: CallTarget, callId: string, wait: WaitOptions): Promise<Answer> {
  return waitForAnswer(target, callId, wait, undefined);
}

/** Room for others: a session holds eight updates, and the server silently hangs the eleventh. */
const heldByUs = limits.heldUpdates - 2;

async function waitForAnswer(
  target: CallTarget,
  callId: string,
  wait: WaitOptions,
  unsent: CallRequest | undefined,
): Promise<Answer> {
  const { context } = target;
  const asked = { what: `call ${callId} of session ${target.sessionId}`, ...context };
  const until = Date.now() + (wait.waitMs ?? Infinity);
  let request = unsent;
  let trouble: { since: number; attempt: number } | undefined;
  for (;;) {
    wait.signal?.throwIfAborted();
    const waitMs = Math.max(0, Math.min(limits.waitMs, until - Date.now()));
    try {
      await context.seen();
      if (target.held >= heldByUs) return await pollForAnswer(target, callId, until, wait.signal, request);
      target.held++;
      const answer = await update(target, { callId, waitMs, request, signal: wait.signal }).finally(
        () => target.held--,
      );
      trouble = undefined;
      request = undefined;
      if (isFinal(answer) || Date.now() >= until) return answer;
    } catch (error) {
      wait.signal?.throwIfAborted();
      if (isGone(error)) return await answerAfterEnd(target, callId);
      const translated = translateError(error, asked);
      const busy = translated.code === "busy" && !isTransient(error);
      // Of a call that is there already only an update can tell whether it is this one: it waits for its turn.
      if (busy && (request === undefined || (await queryCall(target, callId)) === null)) {
        return await pollForAnswer(target, callId, until, wait.signal, request);
      }
      trouble ??= { since: Date.now(), attempt: 0 };
      if (
        !(busy || isTransient(error)) ||
        Date.now() - trouble.since > context.patienceMs ||
        Date.now() >= until
      ) {
        throw translated;
      }
      // Sent again in full: whether the session heard it is not known.
      request = unsent;
      await sleep(backoffMs(trouble.attempt++), undefined, { signal: wait.signal });
    }
  }
}

/** The answer may come at the very end of the wait, over a slow line, from a worker that replays first. */
const updateGraceMs = 10_000;

async function update(
  { context, handle }: CallTarget,
  { callId, waitMs, request, signal }: UpdateRequest,
): Promise<Answer> {
  const [name, argument] =
    request === undefined
      ? [messageNames.awaitCall, { callId, waitMs }]
      : [messageNames.callTool, { ...request, waitMs }];
  const { connection } = context;
  const send = (): Promise<unknown> => handle.executeUpdate(name, { args: [argument] });
  const sendInTime = (): Promise<unknown> =>
    connection.withDeadline(Date.now() + waitMs + updateGraceMs, send);
  return answerSchema.parse(
    await (signal === undefined ? sendInTime() : connection.withAbortSignal(signal, sendInTime)),
  );
}

interface UpdateRequest {
  readonly callId: string;
  readonly waitMs: number;
  /** Absent: the session has the call, and only its answer is waited for. */
  readonly request: CallRequest | undefined;
  readonly signal: AbortSignal | undefined;
}

async function pollForAnswer(
  target: CallTarget,
  callId: string,
  until: number,
  signal: AbortSignal | undefined,
  request: CallRequest | undefined,
): Promise<Answer> {
  if (request !== undefined) {
    await ask(target.context, `send call ${callId} to session ${target.sessionId}`, () =>
      target.handle.signal(messageNames.callTool, request),
    );
  }
  let since: number | undefined;
  for (let attempt = 0; ; attempt++) {
    signal?.throwIfAborted();
    try {
      const answer = await queryCall(target, callId);
      since = undefined;
      // A query sees every earlier signal: a call that is unknown now was refused.
      if (answer === null) throw await refusal(target, callId);
      if (isFinal(answer) || Date.now() >= until) return answer;
    } catch (error) {
      since ??= Date.now();
      const silent = error instanceof HoldfastError && error.code === "unavailable";
      if (!silent || Date.now() - since > target.context.patienceMs) throw error;
    }
    await sleep(Math.min(backoffMs(attempt), Math.max(1, until - Date.now())), undefined, { signal });
  }
}

/** The stored answer of a session that ended; the session's worker has to be up for it. */
async function answerAfterEnd(target: CallTarget, callId: string): Promise<Answer> {
  const answer = await queryCall(target, callId, `call session ${target.sessionId}`);
  if (answer !== null && isFinal(answer)) return answer;
  throw new HoldfastError(
    "closed",
    `Session ${target.sessionId} has ended and has no answer for call ${callId}.`,
    {
      hint: "Start a new session; `holdfast session list` shows the open ones.",
    },
  );
}

export async function queryCall(
  target: CallTarget,
  callId: string,
  what = `read call ${callId} of session ${target.sessionId}`,
): Promise<Answer | null> {
  const answer = await ask(target.context, what, () => target.handle.query(queryNames.call, callId));
  return answer === null || answer === undefined ? null : answerSchema.parse(answer);
}

async function refusal(target: CallTarget, callId: string): Promise<HoldfastError> {
  const state = await ask(target.context, `read the state of session ${target.sessionId}`, () =>
    target.handle.query<{ rejected?: Parameters<typeof HoldfastError.from>[0][] }>(queryNames.state),
  );
  const last = state.rejected?.at(-1);
  if (last !== undefined) return HoldfastError.from(last);
  return new HoldfastError("not-found", `Session ${target.sessionId} knows no call ${callId}.`, {
    hint: "Check the callId; `holdfast session state` shows what runs.",
  });
}

const isFinal = (answer: Answer): boolean => answer.status === "done" || answer.status === "rejected";

/** Quick at first: a roll-over takes milliseconds, a restart of the server seconds. */
const backoffMs = (attempt: number): number => Math.min(1_000, 50 * 2 ** attempt);
