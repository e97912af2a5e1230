import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLocalArtifactStore } from "../../src/artifacts/local-artifact-store.js";
import { createChannelPool } from "../../src/exec/channel-pool.js";
import type { PerformOptions } from "../../src/exec/perform-call.js";
import type { CallDeps } from "../../src/exec/call-deps.js";
import { createSecretResolver } from "../../src/exec/secrets.js";
import { createTools } from "../../src/tools/index.js";
import { MemorySandbox } from "./memory-channel.js";

/** Everything a worker needs to perform calls, over one memory sandbox. */
export interface MemoryWorker extends AsyncDisposable {
  readonly sandbox: MemorySandbox;
  readonly deps: CallDeps;
  readonly directory: string;
  readonly secretEnv: Record<string, string>;
  readonly secretFiles: Record<string, Uint8Array>;
}

export async function createMemoryWorker({ maxChannels = 4 } = {}): Promise<MemoryWorker> {
  const directory = await mkdtemp(join(tmpdir(), "holdfast-worker-"));
  const sandbox = new MemorySandbox();
  const secretEnv: Record<string, string> = {};
  const secretFiles: Record<string, Uint8Array> = {};
  const pool = createChannelPool({ hostId: "host-1", maxChannels, connect: sandbox.connect });
  return {
    sandbox,
    directory,
    secretEnv,
    secretFiles,
    deps: {
      pool,
      artifacts: createLocalArtifactStore({ directory }),
      secrets: createSecretResolver({
        env: (key) => Promise.resolve(secretEnv[key]),
        file: (key) => Promise.resolve(secretFiles[key]),
      }),
      tools: createTools(),
    },
    async [Symbol.asyncDispose]() {
      await pool.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

export const unhurried = (changes: Partial<PerformOptions> = {}): PerformOptions => ({
  signal: new AbortController().signal,
  onClaimed: () => undefined,
  onOutput: () => undefined,
  ...changes,
});
