export {
  createHoldfastClient,
  type HoldfastClient,
  type HoldfastClientOptions,
  type ServerFacts,
} from "./holdfast-client.js";
export { HoldfastError } from "./holdfast-error.js";
export type { WaitOptions } from "./call-tool.js";
export type { SessionFilter, SessionListItem } from "./list-sessions.js";
export type { Session, SessionCall, StopOptions } from "./session.js";
export type { Sessions } from "./sessions.js";
export type { ToolAnswer, ToolCallOptions, ToolCalls } from "./tool-calls.js";
