import type { CallRequest, CancelledBy, Outcome, ReplyTo } from "../../contract/call.js";
import type { CallEnding } from "../../contract/activities.js";
import { limits } from "../../contract/names.js";
import type { ArtifactRef, Failure } from "../../contract/refs.js";
import { jsonBytes } from "./json-size.js";
import { requestHash } from "./request-hash.js";

/** One call as the session remembers it. Carried over a roll-over as it is. */
export interface CallRecord {
  readonly callId: string;
  readonly tool: CallRequest["tool"];
  readonly requestHash: string;
  readonly queuedAtMs: number;
  readonly timeoutMs?: number;
  /** Everybody who asked for the answer by signal. */
  replyTo?: readonly ReplyTo[];
  status: "queued" | "running" | "done";
  /** Kept until the call is done. */
  input?: CallRequest["input"];
  generation?: number;
  /** Set as soon as somebody wants it ended. */
  cancelledBy?: CancelledBy;
  startedAtMs?: number;
  endedAtMs?: number;
  outcome?: Outcome;
  result?: Record<string, unknown>;
  /** Size of `result` while it is kept inline. */
  resultBytes?: number;
  resultRef?: ArtifactRef;
  origin?: "unrecorded";
  reply?: "delivered" | "undeliverable";
}

export type Accepted = { kind: "new" | "known"; record: CallRecord } | { kind: "refused"; failure: Failure };

/** The session's calls: what waits and runs in order of arrival, and the last 1,000 that are done. */
export interface CallBook {
  accept(request: CallRequest, nowMs: number): Accepted;
  /** Why `accept` would refuse this; undefined when it wouldn't. */
  refusalOf(request: CallRequest): Failure | undefined;
  get(callId: string): CallRecord | undefined;
  /** Oldest first. */
  queued(): readonly CallRecord[];
  running(): readonly CallRecord[];
  newestFirst(): CallRecord[];
  doneCount(): number;
  toolCounts(): Readonly<Record<string, number>>;
  markRunning(record: CallRecord, generation: number, nowMs: number): void;
  finish(record: CallRecord, ending: Ending): void;
  /**
   * Drops inline results beyond the budget, oldest first: of those that are in the store as well, and that
   * `isAwaited` doesn't need. The others are so small that a thousand of them fit.
   */
  trim(isAwaited: (callId: string) => boolean): void;
  carry(): CarriedCalls;
}

export type Ending = Pick<CallEnding, "outcome" | "result" | "resultRef" | "startedAtMs" | "endedAtMs">;

export interface CarriedCalls {
  readonly records: CallRecord[];
  readonly doneCount: number;
  readonly toolCounts: Record<string, number>;
}

export function createCallBook(carried?: CarriedCalls): CallBook {
  const records = new Map((carried?.records ?? []).map((record) => [record.callId, record]));
  const queue = [...records.values()].filter((record) => record.status === "queued");
  const running = new Set([...records.values()].filter((record) => record.status === "running"));
  const toolCounts: Record<string, number> = { ...carried?.toolCounts };
  let doneCount = carried?.doneCount ?? 0;
  let queuedBytes = queue.reduce((sum, record) => sum + queuedSize(record), 0);
  let inlineBytes = [...records.values()].reduce((sum, record) => sum + (record.resultBytes ?? 0), 0);

  function refusalOf(request: CallRequest): Failure | undefined {
    const known = records.get(request.callId);
    if (known !== undefined) {
      return known.requestHash === requestHash(request) ? undefined : conflict(request.callId);
    }
    const bytes = queuedBytes + queuedSize(request);
    return queue.length >= limits.queuedCalls || bytes > limits.queuedInputBytes
      ? tooManyQueued(queue.length, queuedBytes)
      : undefined;
  }

  function dequeue(record: CallRecord): void {
    const index = queue.indexOf(record);
    if (index < 0) return;
    queue.splice(index, 1);
    queuedBytes -= queuedSize(record);
  }

  function dropResult(record: CallRecord): void {
    inlineBytes -= record.resultBytes ?? 0;
    delete record.result;
    delete record.resultBytes;
  }

  /** Only done calls leave; what they came to is still refused by the sandbox's tombstone. */
  function forgetOldest(): void {
    for (const record of records.values()) {
      if (records.size <= limits.rememberedCalls) return;
      if (record.status !== "done") continue;
      dropResult(record);
      records.delete(record.callId);
    }
  }

  return {
    accept(request, nowMs) {
      const failure = refusalOf(request);
      if (failure !== undefined) return { kind: "refused", failure };
      const known = records.get(request.callId);
      if (known !== undefined) {
        addReplyTo(known, request.replyTo);
        return { kind: "known", record: known };
      }
      const record: CallRecord = {
        callId: request.callId,
        tool: request.tool,
        requestHash: requestHash(request),
        queuedAtMs: nowMs,
        status: "queued",
        input: request.input,
        ...(request.timeoutMs === undefined ? {} : { timeoutMs: request.timeoutMs }),
        ...(request.replyTo === undefined ? {} : { replyTo: [request.replyTo] }),
      };
      records.set(record.callId, record);
      queue.push(record);
      queuedBytes += queuedSize(record);
      toolCounts[record.tool] = (toolCounts[record.tool] ?? 0) + 1;
      return { kind: "new", record };
    },
    refusalOf,
    get: (callId) => records.get(callId),
    queued: () => queue,
    running: () => [...running],
    newestFirst: () => [...records.values()].reverse().sort((a, b) => b.queuedAtMs - a.queuedAtMs),
    doneCount: () => doneCount,
    toolCounts: () => toolCounts,
    markRunning(record, generation, nowMs) {
      dequeue(record);
      running.add(record);
      record.status = "running";
      record.generation = generation;
      record.startedAtMs = nowMs;
    },
    finish(record, ending) {
      if (record.status === "done") return;
      dequeue(record);
      running.delete(record);
      const { outcome, result, resultRef, startedAtMs, endedAtMs } = ending;
      Object.assign(record, { status: "done", outcome, startedAtMs, endedAtMs });
      if (result !== undefined) record.result = result;
      if (resultRef !== undefined) record.resultRef = resultRef;
      delete record.input;
      // Behind all others: what is done is forgotten in the order of its end, and not of its arrival.
      records.delete(record.callId);
      records.set(record.callId, record);
      if (record.result !== undefined) {
        record.resultBytes = jsonBytes(record.result);
        inlineBytes += record.resultBytes;
      }
      doneCount += 1;
      forgetOldest();
    },
    trim(isAwaited) {
      for (const record of records.values()) {
        if (inlineBytes <= limits.carriedAnswerBytes) return;
        if (record.resultRef !== undefined && !isAwaited(record.callId)) dropResult(record);
      }
    },
    carry: () => ({ records: [...records.values()], doneCount, toolCounts }),
  };
}

/** Asked again while it isn't done: whoever else asks is answered too. */
function addReplyTo(record: CallRecord, replyTo: ReplyTo | undefined): void {
  if (replyTo === undefined || record.status === "done") return;
  const known = record.replyTo ?? [];
  const isKnown = known.some(
    (other) => other.workflowId === replyTo.workflowId && other.signal === replyTo.signal,
  );
  if (!isKnown && known.length < limits.heldUpdates) record.replyTo = [...known, replyTo];
}

/** What a queued call adds to the next roll-over, near enough. */
const queuedSize = ({
  callId,
  input,
  replyTo,
}: {
  callId: string;
  input?: unknown;
  replyTo?: unknown;
}): number => jsonBytes([callId, input, replyTo]);

const conflict = (callId: string): Failure => ({
  code: "conflict",
  field: "callId",
  message: `callId ${callId} was used for another request`,
  hint: "Use a new callId for a new request, or send the very same request to get its answer.",
});

const tooManyQueued = (calls: number, bytes: number): Failure => ({
  code: "busy",
  message: `${calls} calls (${bytes} bytes of input) are queued; the most are ${limits.queuedCalls} and ${limits.queuedInputBytes} bytes`,
  hint: "Wait for answers before sending more, or put large inputs into the artifact store.",
});
