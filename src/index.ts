/** Public names, listed one by one: what is not here may change in any release. */
export {
  createHoldfastClient,
  HoldfastError,
  type HoldfastClient,
  type HoldfastClientOptions,
  type ServerFacts,
  type Session,
  type SessionCall,
  type SessionFilter,
  type SessionListItem,
  type Sessions,
  type StopOptions,
  type ToolAnswer,
  type ToolCallOptions,
  type ToolCalls,
  type WaitOptions,
} from "./client/index.js";
export { loadConfig, type ConfigFlags, type HoldfastConfig } from "./config.js";
export { startDevServer, type DevServer, type DevServerOptions } from "./dev-server/index.js";
export { createHoldfastWorker, type HoldfastWorker, type HoldfastWorkerOptions } from "./worker.js";
export { HoldfastPlugin } from "./plugin.js";
export { toolDefinitions, type ToolDefinitionForModels } from "./tools/definitions.js";
export { createLocalArtifactStore } from "./artifacts/local-artifact-store.js";
export type { ArtifactStore } from "./artifacts/artifact-store.js";
export type { Answer, CallRequest, CallStatus, CallSummary, Outcome } from "./contract/call.js";
export type { ExtendRequest, StopRequest } from "./contract/messages.js";
export type { ArtifactFile, ArtifactRef, Failure, FailureCode, Text } from "./contract/refs.js";
export type { NetworkPolicy, SessionSpec, TemplateSpec } from "./contract/spec.js";
export type { SessionStatus, SessionSummary, SessionView } from "./contract/state.js";
export type { ToolInput, ToolName, ToolResult } from "./contract/tools.js";
