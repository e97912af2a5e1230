import { setTimeout as sleep } from "node:timers/promises";
import type { Answer, CallRequest } from "../contract/call.js";
import { limits } from "../contract/names.js";
import { byPolling, byUpdate, fromTheEnded, RolledOver, type CallTarget, type Course } from "./call-ways.js";
import { translateError, verdictOf, type Verdict } from "./translate-error.js";

export interface WaitOptions {
  /** Resolves with the answer as it is after so long (`queued`, `running`). Default: waits until it is done. */
  readonly waitMs?: number;
  /** Ends the waiting at once with the signal's reason, never the call. */
  readonly signal?: AbortSignal;
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

const ways = { update: byUpdate, poll: byPolling, ended: fromTheEnded };
type Way = keyof typeof ways;

/** The one place that decides what becomes of an error, whichever way of asking it came from. */
async function waitForAnswer(
  target: CallTarget,
  callId: string,
  wait: WaitOptions,
  request: CallRequest | undefined,
): Promise<Answer> {
  const { context, sessionId } = target;
  const wanted = request === undefined ? `wait for call ${callId} of` : `send call ${callId} to`;
  const asked = { what: `${wanted} session ${sessionId}`, ...context };
  const until = Date.now() + (wait.waitMs ?? Infinity);
  const course: Course = { callId, request, unsettled: request, isSignalled: false, signal: wait.signal };
  let way: Way = "update";
  let trouble: { since: number; attempt: number } | undefined;
  for (let polls = 0; ;) {
    wait.signal?.throwIfAborted();
    if (way === "update" && target.held >= heldByUs) way = "poll";
    try {
      const answer = await ways[way](target, course, until);
      trouble = undefined;
      if (isFinal(answer) || Date.now() >= until) return answer;
      if (way === "poll") await pause(Math.min(backoffMs(polls++), until - Date.now()), wait.signal);
    } catch (error) {
      wait.signal?.throwIfAborted();
      const verdict: Verdict = error instanceof RolledOver ? "transient" : verdictOf(error);
      if (error instanceof RolledOver) way = "update";
      const next = otherWay(way, verdict);
      if (next !== undefined) {
        way = next;
        continue;
      }
      trouble ??= { since: Date.now(), attempt: 0 };
      const isWorthIt = verdict === "transient" || verdict === "busy";
      if (!isWorthIt || Date.now() - trouble.since > context.patienceMs || Date.now() >= until) {
        throw translateError(error, asked);
      }
      await pause(backoffMs(trouble.attempt++), wait.signal);
    }
  }
}

/** Where an error leads, other than to a repetition or to the caller. */
function otherWay(way: Way, verdict: Verdict): Way | undefined {
  if (verdict === "gone" && way !== "ended") return "ended";
  return verdict === "busy" && way === "update" ? "poll" : undefined;
}

/** Room for others: a session holds eight updates, and the server silently hangs the eleventh. */
const heldByUs = limits.heldUpdates - 2;

const isFinal = (answer: Answer): boolean => answer.status === "done" || answer.status === "rejected";

/** Quick at first: a roll-over takes milliseconds, a restart of the server seconds. */
const backoffMs = (attempt: number): number => Math.min(1_000, 50 * 2 ** attempt);

/** Ends early when told to, with the caller's own reason. */
async function pause(durationMs: number, signal: AbortSignal | undefined): Promise<void> {
  try {
    await sleep(Math.max(1, durationMs), undefined, { signal });
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  }
}
