import type { ArtifactStore } from "../artifacts/artifact-store.js";
import type { Tools } from "../tools/tool.js";
import type { ChannelPool } from "./channel-pool.js";
import type { ChannelSource } from "./channel-source.js";
import type { ResolveSecrets } from "./secrets.js";

export interface CallDeps {
  readonly pool: ChannelPool;
  readonly artifacts: ArtifactStore;
  readonly secrets: ResolveSecrets;
  readonly tools: Tools;
}

/** How far a running command is; `tail` is the last text of the stream that spoke last. */
export interface LiveOutput {
  readonly stdout: number;
  readonly stderr: number;
  readonly tail: string;
}

export interface RunOptions {
  readonly deps: CallDeps;
  readonly source: ChannelSource;
  /** Ends the following, never the command; its reason is thrown. */
  readonly signal: AbortSignal;
  onClaimed(): void;
  onOutput(live: LiveOutput): void;
}
