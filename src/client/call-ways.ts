import type { WorkflowHandle } from "@temporalio/client";
import { answerSchema, type Answer, type CallRequest } from "../contract/call.js";
import { limits, messageNames, queryNames } from "../contract/names.js";
import { request, type ClientContext } from "./client-context.js";
import { HoldfastError } from "./holdfast-error.js";

/** One session, as its calls see it. */
export interface CallTarget {
  readonly context: ClientContext;
  readonly sessionId: string;
  readonly handle: WorkflowHandle;
  /** Updates that this handle holds open now. */
  held: number;
}

/** One call on its way. */
export interface Course {
  readonly callId: string;
  /** Absent: somebody else sent the call. */
  readonly request: CallRequest | undefined;
  /** The request, as long as it is not known whether the session has it. */
  unsettled: CallRequest | undefined;
  /** When a signal was first tried with it. */
  signalledAtMs?: number;
  /** The server has the signal. */
  isSignalled: boolean;
  readonly signal: AbortSignal | undefined;
}

/** A held update: the quickest way. Throws whatever the server says. */
export async function byUpdate(target: CallTarget, course: Course, until: number): Promise<Answer> {
  const waitMs = Math.max(0, Math.min(limits.waitMs, until - Date.now()));
  target.held++;
  try {
    const answer = await update(target, course, waitMs);
    course.unsettled = undefined;
    return answer;
  } catch (error) {
    // Sent again in full: whether the session heard it is not known.
    course.unsettled = course.request;
    throw error;
  } finally {
    target.held--;
  }
}

/**
 * One look at a call whose session has no room for a held update; a signal carries the call there. Only an update
 * tells that an older call is another one (`conflict`) or why a signalled one was refused: it is not held then.
 */
export async function byPolling(target: CallTarget, course: Course): Promise<Answer> {
  const { callId, unsettled, signal } = course;
  if (unsettled !== undefined && !course.isSignalled) {
    course.signalledAtMs ??= Date.now();
    await request(target.context, () => target.handle.signal(messageNames.callTool, unsettled), { signal });
    course.isSignalled = true;
  }
  // A query sees every earlier signal: a call that is unknown now was refused.
  let answer = await queryCall(target, callId, signal);
  if (unsettled === undefined) {
    if (answer === null) throw unknownCall(target, callId);
    return answer;
  }
  const isOurs = answer !== null && Date.parse(answer.queuedAt) >= (course.signalledAtMs ?? Infinity);
  if (answer === null || !isOurs) answer = await update(target, course, 0);
  course.unsettled = undefined;
  return answer;
}

/** Not the session has ended but one run of it, which handed over to the next: the call is sent to that one. */
export class RolledOver extends Error {
  override readonly name = "RolledOver";
}

/** The stored answer of a session that ended; the session's worker has to be up for it. */
export async function fromTheEnded(target: CallTarget, { callId, signal }: Course): Promise<Answer> {
  const answer = await queryCall(target, callId, signal);
  if (answer?.outcome !== undefined) return answer;
  const { status } = await request(target.context, () => target.handle.describe(), { signal });
  if (status.name === "RUNNING") throw new RolledOver(`session ${target.sessionId} goes on in another run`);
  throw new HoldfastError(
    "closed",
    `Session ${target.sessionId} has ended and has no answer for call ${callId}.`,
    { hint: "Start a new session; `holdfast session list` shows the open ones." },
  );
}

/** The answer may come at the very end of the wait, over a slow line, from a worker that replays first. */
const updateGraceMs = 10_000;

async function update(
  { context, handle }: CallTarget,
  { callId, unsettled, signal }: Course,
  waitMs: number,
): Promise<Answer> {
  const [name, argument] =
    unsettled === undefined
      ? [messageNames.awaitCall, { callId, waitMs }]
      : [messageNames.callTool, { ...unsettled, waitMs }];
  const send = (): Promise<unknown> => handle.executeUpdate(name, { args: [argument] });
  return answerSchema.parse(await request(context, send, { deadlineMs: waitMs + updateGraceMs, signal }));
}

/** Null: the session knows no such call. */
export async function queryCall(
  { context, handle }: CallTarget,
  callId: string,
  signal?: AbortSignal,
): Promise<Answer | null> {
  const answer = await request(context, () => handle.query<unknown, [string]>(queryNames.call, callId), {
    signal,
  });
  return answer === null || answer === undefined ? null : answerSchema.parse(answer);
}

const unknownCall = (target: CallTarget, callId: string): HoldfastError =>
  new HoldfastError("not-found", `Session ${target.sessionId} knows no call ${callId}.`, {
    hint: "Check the callId; `holdfast session state` shows what runs.",
  });
