import type { CallRequest, ReplyTo } from "../../contract/call.js";
import type { ExtendRequest, StopRequest } from "../../contract/messages.js";
import { limits, loneSurrogate, toolNames } from "../../contract/names.js";
import type { Failure } from "../../contract/refs.js";
import type { NetworkPolicy } from "../../contract/spec.js";
import { isTooDeep, jsonBytes, utf8Bytes } from "./json-size.js";

/**
 * The checks that a handler can make by itself: known shape, names and sizes. They never throw, because an
 * error thrown by a signal handler fails the session. What a tool makes of its input is checked with the full
 * schema where the call is carried out; zod is not in the workflow bundle (1.1 MB for each cached session).
 */
export type Checked<T> = { ok: true; value: T } | { ok: false; failure: Failure };

type Bag = Record<string, unknown>;

export function checkCall(value: unknown): Checked<CallRequest & { waitMs: number }> {
  if (!isBag(value))
    return invalid("call", "must be an object with callId, tool and input, not nested too deep");
  const callId = checkCallId(value.callId);
  if (!callId.ok) return callId;
  const { tool, input } = value;
  if (!isToolName(tool)) {
    return invalid("tool", `is ${shown(tool)}, which is unknown; known are ${toolNames.join(", ")}`);
  }
  if (!isBag(input)) return invalid("input", "must be an object");
  if (jsonBytes(input) > limits.inlineInputBytes) {
    return refuse("too-large", "input", `is above ${limits.inlineInputBytes} bytes as JSON`, storeHint);
  }
  const timeoutMs = optionalCount(value.timeoutMs, 1);
  if (timeoutMs === false) return invalid("timeoutMs", "must be a positive whole number");
  const waitMs = optionalCount(value.waitMs, 0, limits.waitMs);
  if (waitMs === false) return invalid("waitMs", `must be between 0 and ${limits.waitMs}`);
  const replyTo = checkReplyTo(value.replyTo);
  if (!replyTo.ok) return replyTo;
  return {
    ok: true,
    value: {
      callId: callId.value,
      tool,
      input,
      waitMs: waitMs ?? limits.waitMs,
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
      ...(replyTo.value === undefined ? {} : { replyTo: replyTo.value }),
    },
  };
}

export function checkAwait(value: unknown): Checked<{ callId: string; waitMs: number }> {
  if (!isBag(value)) return invalid("awaitCall", "must be an object with callId");
  const callId = checkCallId(value.callId);
  if (!callId.ok) return callId;
  const waitMs = optionalCount(value.waitMs, 0, limits.waitMs);
  if (waitMs === false) return invalid("waitMs", `must be between 0 and ${limits.waitMs}`);
  return { ok: true, value: { callId: callId.value, waitMs: waitMs ?? limits.waitMs } };
}

export function checkCallIdOf(value: unknown): Checked<{ callId: string }> {
  if (!isBag(value)) return invalid("cancelCall", "must be an object with callId");
  const callId = checkCallId(value.callId);
  return callId.ok ? { ok: true, value: { callId: callId.value } } : callId;
}

export function checkStop(value: unknown): Checked<StopRequest> {
  const bag = value ?? {};
  if (!isBag(bag)) return invalid("stop", "must be an object");
  const graceMs = optionalCount(bag.graceMs, 0, 3_600_000);
  if (graceMs === false) return invalid("graceMs", "must be between 0 and 3,600,000");
  const { cancelQueued } = bag;
  if (!isAbsent(cancelQueued) && typeof cancelQueued !== "boolean") {
    return invalid("cancelQueued", "must be true or false");
  }
  return {
    ok: true,
    value: { ...(graceMs === undefined ? {} : { graceMs }), cancelQueued: cancelQueued === true },
  };
}

export function checkExtend(value: unknown): Checked<ExtendRequest> {
  if (!isBag(value)) return invalid("extend", "must be an object");
  const extension: ExtendRequest = {};
  for (const field of ["idleMs", "stoppedTtlMs", "maxLifetimeMs"] as const) {
    const duration = optionalCount(value[field], 1);
    if (duration === false) return invalid(field, "must be a positive whole number of milliseconds");
    if (duration !== undefined) extension[field] = duration;
  }
  return { ok: true, value: extension };
}

export function checkNetwork(value: unknown): Checked<{ network: NetworkPolicy }> {
  const network = isBag(value) ? value.network : undefined;
  if (network === "deny-all" || network === "allow-all") return { ok: true, value: { network } };
  if (isBag(network) && isStrings(network.allow) && jsonBytes(network) <= limits.inlineInputBytes) {
    return { ok: true, value: { network: network as NetworkPolicy } };
  }
  return invalid("network", 'must be "deny-all", "allow-all" or { allow, subnets }');
}

/** The part of a refused call that is needed to answer it; undefined where it can't be answered. */
export function replyAddress(value: unknown): { replyTo: ReplyTo; callId: string; tool: string } | undefined {
  if (!isBag(value)) return undefined;
  const replyTo = checkReplyTo(value.replyTo);
  if (!replyTo.ok || replyTo.value === undefined) return undefined;
  return { replyTo: replyTo.value, callId: asSent(value.callId), tool: asSent(value.tool) };
}

function checkCallId(value: unknown): Checked<string> {
  if (
    typeof value === "string" &&
    value.length > 0 &&
    value.length <= limits.callIdChars &&
    !loneSurrogate.test(value)
  ) {
    return { ok: true, value };
  }
  return invalid("callId", `must be well-formed text of 1 to ${limits.callIdChars} characters`);
}

function checkReplyTo(value: unknown): Checked<ReplyTo | undefined> {
  if (isAbsent(value)) return { ok: true, value: undefined };
  if (isBag(value) && isName(value.workflowId) && isName(value.signal)) {
    return { ok: true, value: { workflowId: value.workflowId, signal: value.signal } };
  }
  return invalid("replyTo", "must name workflowId and signal, each up to 1,000 bytes");
}

/** undefined when absent, false when it isn't a whole number within the bounds. */
function optionalCount(
  value: unknown,
  min: number,
  max: number = limits.durationMs,
): number | undefined | false {
  if (isAbsent(value)) return undefined;
  return typeof value === "number" && Number.isInteger(value) && value >= min && value <= max && value;
}

const storeHint = "Put the input into the artifact store as a JSON file and send { ref } in its place.";

const invalid = (field: string, problem: string): { ok: false; failure: Failure } =>
  refuse("invalid-request", field, problem, `Correct ${field} and send it again.`);

const refuse = (code: Failure["code"], field: string, problem: string, hint: string) => ({
  ok: false as const,
  failure: { code, field, message: `${field} ${problem}`, hint },
});

const isAbsent = (value: unknown): value is null | undefined => value === undefined || value === null;
const isBag = (value: unknown): value is Bag =>
  typeof value === "object" && value !== null && !Array.isArray(value) && !isTooDeep(value, limits.nesting);
/** The server limits bytes, and refuses the whole workflow task beyond. */
const isName = (value: unknown): value is string =>
  typeof value === "string" && value.length > 0 && utf8Bytes(value) <= 1000 && !loneSurrogate.test(value);
const isStrings = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((entry) => typeof entry === "string");
const isToolName = (value: unknown): value is CallRequest["tool"] =>
  (toolNames as readonly unknown[]).includes(value);

/** What was sent, short enough for a message. */
const shown = (value: unknown): string =>
  typeof value === "string" ? JSON.stringify(value.slice(0, 100)) : `of type ${typeof value}`;

const asSent = (value: unknown): string =>
  typeof value === "string" ? value.slice(0, limits.callIdChars) : "";
