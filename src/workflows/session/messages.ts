import { defineQuery, defineSignal, defineUpdate } from "@temporalio/workflow";
import type { Answer, CallSummary } from "../../contract/call.js";
import type { Accepted, CollectResult, UploadResult } from "../../contract/messages.js";
import { messageNames, queryNames } from "../../contract/names.js";
import type { SessionView } from "../../contract/state.js";

/** Everything a session understands. Arguments are `unknown`: they come from anywhere and are checked. */

export const callToolSignal = defineSignal<[unknown]>(messageNames.callTool);
export const callToolUpdate = defineUpdate<Answer, [unknown]>(messageNames.callTool);
export const awaitCallUpdate = defineUpdate<Answer, [unknown]>(messageNames.awaitCall);

export type ControlName = "cancelCall" | "stop" | "resume" | "delete" | "extend" | "setNetworkPolicy";
export const controlNames: readonly ControlName[] = [
  "cancelCall",
  "stop",
  "resume",
  "delete",
  "extend",
  "setNetworkPolicy",
];
export const controlSignal = (name: ControlName) => defineSignal<[unknown]>(messageNames[name]);
export const controlUpdate = (name: ControlName) => defineUpdate<Accepted, [unknown]>(messageNames[name]);

export const uploadUpdate = defineUpdate<UploadResult, [unknown]>(messageNames.upload);
export const collectOutputsUpdate = defineUpdate<CollectResult, [unknown]>(messageNames.collectOutputs);

export const stateQuery = defineQuery<SessionView>(queryNames.state);
export const callQuery = defineQuery<Answer | null, [unknown]>(queryNames.call);
export const callsQuery = defineQuery<CallSummary[]>(queryNames.calls);
