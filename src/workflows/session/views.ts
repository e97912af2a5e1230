import type { Answer, CallSummary } from "../../contract/call.js";
import { limits, providerNames } from "../../contract/names.js";
import type { Failure } from "../../contract/refs.js";
import type { SessionView } from "../../contract/state.js";
import type { CallBook, CallRecord } from "./call-book.js";
import { jsonBytes } from "./json-size.js";
import { isFinal, type Lifecycle } from "./lifecycle.js";
import { idleDeadlineMs, stoppedDeadlineMs } from "./next-step.js";
import type { Belongings } from "./session-state.js";

/** What others see of a session. Every view stays within `limits.queryBytes`, whatever the session holds. */

export function answerOf(sessionId: string, record: CallRecord): Answer {
  const { startedAtMs, endedAtMs } = record;
  return {
    sessionId,
    callId: record.callId,
    tool: record.tool,
    status: record.status,
    ...(record.outcome === undefined ? {} : { outcome: record.outcome }),
    ...resultOf(record),
    ...(record.generation === undefined ? {} : { generation: record.generation }),
    ...(record.origin === undefined ? {} : { origin: record.origin }),
    queuedAt: time(record.queuedAtMs),
    ...(startedAtMs === undefined ? {} : { startedAt: time(startedAtMs) }),
    ...(endedAtMs === undefined ? {} : { endedAt: time(endedAtMs) }),
    ...(startedAtMs === undefined || endedAtMs === undefined
      ? {}
      : { durationMs: Math.max(0, endedAtMs - startedAtMs) }),
    ...(record.reply === undefined ? {} : { reply: record.reply }),
  };
}

/** An older answer may have left the inline budget; then its result is a reference to the JSON in the store. */
function resultOf(record: CallRecord): Pick<Answer, "result"> {
  if (record.result !== undefined) return { result: record.result };
  if (record.resultRef !== undefined) return { result: { ref: record.resultRef } };
  return {};
}

/** Answer to a call that was refused before it was queued. */
export function refusal(
  sessionId: string,
  call: { callId: string; tool: string },
  failure: Failure,
  nowMs: number,
): Answer {
  return {
    sessionId,
    callId: call.callId,
    tool: call.tool,
    status: "rejected",
    outcome: { kind: "error", error: failure },
    queuedAt: time(nowMs),
  };
}

export function callSummaries(calls: CallBook): CallSummary[] {
  const summaries: CallSummary[] = [];
  let bytes = 2;
  for (const record of calls.newestFirst()) {
    const summary: CallSummary = {
      callId: record.callId,
      tool: record.tool,
      status: record.status,
      ...(record.outcome === undefined ? {} : { outcome: record.outcome }),
      ...(record.startedAtMs === undefined ? {} : { startedAt: time(record.startedAtMs) }),
      ...(record.endedAtMs === undefined ? {} : { endedAt: time(record.endedAtMs) }),
    };
    bytes += jsonBytes(summary) + 1;
    if (bytes > limits.queryBytes) break;
    summaries.push(summary);
  }
  return summaries;
}

export function sessionView(state: {
  lifecycle: Lifecycle;
  belongings: Belongings;
  calls: CallBook;
  rejected: readonly Failure[];
}): SessionView {
  const { lifecycle, belongings, calls } = state;
  const { handle, placement } = belongings;
  const running = calls.running().map((record) => record.callId);
  return {
    sessionId: belongings.session.sessionId,
    runId: belongings.session.runId,
    status: lifecycle.status,
    provider: placement?.spec.provider ?? unplacedProvider(belongings.spec),
    ...(placement === undefined ? {} : { host: placement.hostId }),
    ...(handle === undefined
      ? {}
      : {
          sandboxId: handle.sandboxId,
          generation: handle.generation,
          templateKey: handle.templateKey,
        }),
    network: belongings.network ?? placement?.spec.network ?? "deny-all",
    createdAt: time(lifecycle.createdAtMs),
    lastActivityAt: time(lifecycle.lastActivityMs),
    ...(isFinal(lifecycle.status) ? {} : { expires: expiry(lifecycle, calls) }),
    calls: { queued: calls.queued().length, running: running.length, done: calls.doneCount() },
    running,
    toolCounts: calls.toolCounts(),
    background: [...belongings.background],
    rejected: [...state.rejected],
    ...(lifecycle.failure === undefined ? {} : { failure: lifecycle.failure }),
    capabilities: placement?.capabilities ?? {},
  };
}

/** Before the placement nobody has checked the spec: only a provider that there is gets out. */
function unplacedProvider({ provider }: Belongings["spec"]): SessionView["provider"] {
  return providerNames.find((name) => name === provider) ?? "just-bash";
}

function expiry(lifecycle: Lifecycle, calls: CallBook): NonNullable<SessionView["expires"]> {
  const endsAtMs = lifecycle.createdAtMs + lifecycle.timeouts.maxLifetimeMs;
  const deleteAtMs =
    lifecycle.status === "stopped" ? Math.min(endsAtMs, stoppedDeadlineMs(lifecycle) ?? endsAtMs) : endsAtMs;
  const isIdle = lifecycle.status === "running" && calls.running().length + calls.queued().length === 0;
  return {
    ...(isIdle ? { idleAt: time(idleDeadlineMs(lifecycle)) } : {}),
    deleteAt: time(deleteAtMs),
  };
}

/** RFC 3339. A duration near the largest number would leave the range of dates: the last one stands for it. */
export const time = (ms: number): string => new Date(Math.min(ms, 8_640_000_000_000_000 - 1)).toISOString();
