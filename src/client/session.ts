import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { z } from "zod";
import {
  callRequestSchema,
  callSummarySchema,
  type Answer,
  type CallRequest,
  type CallSummary,
} from "../contract/call.js";
import {
  extendSchema,
  setNetworkPolicySchema,
  stopSchema,
  type ExtendRequest,
  type StopRequest,
} from "../contract/messages.js";
import { messageNames, queryNames } from "../contract/names.js";
import { parse } from "../contract/parse.js";
import type { NetworkPolicy } from "../contract/spec.js";
import {
  stateSchema,
  summarySchema,
  type SessionStatus,
  type SessionSummary,
  type SessionView,
} from "../contract/state.js";
import { awaitCall, sendCall, type WaitOptions } from "./call-tool.js";
import { queryCall, type CallTarget } from "./call-ways.js";
import { ask, type ClientContext } from "./client-context.js";
import { HoldfastError } from "./holdfast-error.js";
import { storeInput } from "./store-input.js";
import { withStoredResult } from "./stored-result.js";
import { translateError } from "./translate-error.js";
import { createToolCalls, type ToolCalls } from "./tool-calls.js";

/** A call as one object; without `callId` a new one is made up, and the answer names it. */
export type SessionCall = Omit<CallRequest, "callId"> & { readonly callId?: string } & WaitOptions;

export interface StopOptions extends StopRequest {
  /** Resolves when the session has stopped, not when it has heard. */
  readonly wait?: boolean;
}

/**
 * One session. What a command did is a value (`answer.outcome`); thrown is a `HoldfastError` with a code:
 * `not-found`, `closed`, `conflict` (the callId was used for another request), `unavailable`, ...
 */
export interface Session extends ToolCalls {
  readonly sessionId: string;
  /** Sends a call and waits for its answer. The same callId again never runs it twice and gives the same answer. */
  call(call: SessionCall): Promise<Answer>;
  /** Waits for a call that was sent before. */
  awaitCall(callId: string, wait?: WaitOptions): Promise<Answer>;
  /** Asks for the end of a call; its answer tells when it came. An unknown or ended call is fine. */
  cancelCall(callId: string): Promise<void>;
  /** Ends what runs and keeps the files; the next call or `resume` goes on. */
  stop(options?: StopOptions): Promise<void>;
  resume(options?: { readonly wait?: boolean }): Promise<void>;
  /** Removes the sandbox and ends the session. With `wait`: the summary, once nothing is left. */
  delete(options: { readonly wait: true }): Promise<SessionSummary>;
  delete(options?: { readonly wait?: boolean }): Promise<SessionSummary | undefined>;
  extend(request: ExtendRequest): Promise<void>;
  setNetworkPolicy(network: NetworkPolicy): Promise<void>;
  state(): Promise<SessionView>;
  /** The answer as it is now; null when the session knows no such call. */
  getCall(callId: string): Promise<Answer | null>;
  /** Newest first. */
  calls(): Promise<CallSummary[]>;
  /** Resolves when the session has ended. Throws what it failed with. */
  result(): Promise<SessionSummary>;
}

export function createSession(
  context: ClientContext,
  { sessionId, firstRunId }: { sessionId: string; firstRunId?: string },
): Session {
  const handle = context.temporal.workflow.getHandle(
    sessionId,
    undefined,
    firstRunId === undefined ? {} : { firstExecutionRunId: firstRunId },
  );
  const target: CallTarget = { context, sessionId, handle, held: 0 };
  const askSession = <T>(verb: string, request: () => Promise<T>): Promise<T> =>
    ask(context, `${verb} session ${sessionId}`, request);
  const signal = (name: keyof typeof messageNames, argument: object): Promise<void> =>
    askSession(name, () => handle.signal(messageNames[name], argument)).catch(async (error: unknown) => {
      throw await closedOrNotFound(target, error);
    });

  const whole = (answer: Answer): Promise<Answer> => withStoredResult(answer, context.artifacts);

  const call: Session["call"] = async ({ waitMs, signal: abort, callId = randomUUID(), ...rest }) => {
    const request = checked(callRequestSchema, { ...rest, callId }, "call");
    const input = await storeInput(request.input, context.artifacts);
    return whole(await sendCall(target, { ...request, input }, { waitMs, signal: abort }));
  };
  const state = async (): Promise<SessionView> =>
    stateSchema.parse(await askSession("read the state of", () => handle.query(queryNames.state)));
  const result = async (): Promise<SessionSummary> => {
    // Without a deadline: a session lives for days.
    const summary: unknown = await context
      .seen()
      .then(() => handle.result())
      .catch((error: unknown) => {
        throw translateError(error, { what: `read the result of session ${sessionId}`, ...context });
      });
    return summarySchema.parse(summary);
  };

  return {
    sessionId,
    call,
    ...createToolCalls(call),
    awaitCall: async (callId, wait = {}) => whole(await awaitCall(target, callId, wait)),
    cancelCall: (callId) => signal("cancelCall", { callId }),
    async stop({ wait = false, ...request } = {}) {
      await signal("stop", checked(stopSchema, request, "stop"));
      if (wait) await untilStatus(state, ["stopped"]);
    },
    async resume({ wait = false } = {}) {
      await signal("resume", {});
      if (wait) await untilStatus(state, ["running"]);
    },
    delete: (async ({ wait = false } = {}) => {
      try {
        await signal("delete", {});
      } catch (error) {
        // Deleted already: what was asked for.
        if (!(error instanceof HoldfastError && error.code === "closed")) throw error;
      }
      return wait ? result() : undefined;
    }) as Session["delete"],
    extend: (request) => signal("extend", checked(extendSchema, request, "extend")),
    setNetworkPolicy: (network) =>
      signal("setNetworkPolicy", checked(setNetworkPolicySchema, { network }, "setNetworkPolicy")),
    state,
    async getCall(callId) {
      const what = `read call ${callId} of session ${sessionId}`;
      const answer = await queryCall(target, callId).catch((error: unknown) => {
        throw translateError(error, { what, ...context });
      });
      return answer === null ? null : whole(answer);
    },
    calls: async () =>
      callSummarySchema
        .array()
        .parse(await askSession("list the calls of", () => handle.query(queryNames.calls))),
    result,
  };
}

/** The server says "not found" of a session that has ended, too. */
async function closedOrNotFound({ handle, sessionId }: CallTarget, error: unknown): Promise<unknown> {
  if (!(error instanceof HoldfastError) || error.code !== "not-found") return error;
  const described = await handle.describe().catch(() => undefined);
  // Can't be described either: there is none, as the first error says.
  if (described === undefined) return error;
  const how = described.status.name.toLowerCase();
  return new HoldfastError("closed", `Session ${sessionId} has ended (${how}).`, {
    hint: "Start a new session; `holdfast session list` shows the open ones.",
    cause: error,
  });
}

const ended: readonly SessionStatus[] = ["deleting", "deleted", "failed"];

async function untilStatus(
  state: () => Promise<SessionView>,
  wanted: readonly SessionStatus[],
): Promise<void> {
  for (let delayMs = 50; ; delayMs = Math.min(1_000, delayMs * 2)) {
    const view = await state();
    if (wanted.includes(view.status)) return;
    if (ended.includes(view.status)) {
      if (view.failure !== undefined) throw HoldfastError.from(view.failure);
      throw new HoldfastError("closed", `Session ${view.sessionId} is ${view.status}.`, {
        hint: "Start a new one.",
      });
    }
    await sleep(delayMs);
  }
}

function checked<T>(schema: z.ZodType<T>, value: unknown, root: string): T {
  const parsed = parse(schema, value, root);
  if (!parsed.ok) throw HoldfastError.from(parsed.failure);
  return parsed.value;
}
