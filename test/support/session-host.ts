import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client, Connection } from "@temporalio/client";
import { DefaultLogger, Runtime } from "@temporalio/worker";
import { inject } from "vitest";
import { createHoldfastClient, type HoldfastClient } from "../../src/client/holdfast-client.js";
import { loadConfig, type HoldfastConfig } from "../../src/config.js";
import { createJustBashProvider } from "../../src/providers/just-bash/provider.js";
import { createHoldfastWorker, type HoldfastWorkerOptions, type ProviderHost } from "../../src/worker.js";

/** Workers and clients of one test file, apart from all others by task queue, owner and state directory. */
export interface SessionHost {
  readonly client: HoldfastClient;
  /** Temporal's own client, for what a stranger would send. */
  readonly temporal: Client;
  readonly taskQueue: string;
  readonly config: HoldfastConfig;
  /** An id that no other test uses. */
  newId(name: string): string;
  /** One more worker of this host, in this process. Resolves when it polls. */
  startWorker(options?: HoldfastWorkerOptions): Promise<{ stop(): Promise<void> }>;
  stop(): Promise<void>;
}

let isQuiet = false;

/** Workers log what tests provoke; only what nobody provoked is worth reading. */
function quietRuntime(): void {
  if (isQuiet) return;
  isQuiet = true;
  Runtime.install({
    logger: new DefaultLogger("ERROR"),
    telemetryOptions: { logging: { forward: {}, filter: "ERROR" } },
  });
}

/** Threads run compiled code: the build's. */
const threadEntry = new URL("../../dist/providers/just-bash/thread.js", import.meta.url);

const builtProviders = async (host: ProviderHost) => [await createJustBashProvider({ ...host, threadEntry })];

export async function createSessionHost(name: string): Promise<SessionHost> {
  quietRuntime();
  const { address, namespace } = inject("temporal");
  const stateDir = await mkdtemp(join(tmpdir(), `holdfast-${name}-`));
  const taskQueue = `test-${name}-${randomUUID().slice(0, 8)}`;
  const config = loadConfig({
    env: {
      PATH: process.env.PATH,
      HOME: stateDir,
      TEMPORAL_ADDRESS: address,
      TEMPORAL_NAMESPACE: namespace,
      HOLDFAST_TASK_QUEUE: taskQueue,
      HOLDFAST_STATE_DIR: stateDir,
      HOLDFAST_OWNER: taskQueue,
    },
  });
  const connection = await Connection.connect({ address });
  const client = createHoldfastClient({ connection, namespace, taskQueue, artifacts: config.artifactsDir });
  const workers = new Set<{ stop(): Promise<void> }>();
  return {
    client,
    temporal: new Client({ connection, namespace }),
    taskQueue,
    config,
    newId: (label) => `${name}-${label}-${randomUUID().slice(0, 8)}`,
    async startWorker(options = {}) {
      const worker = await createHoldfastWorker(config, { providers: builtProviders, ...options });
      const run = worker.run();
      const started = {
        async stop() {
          workers.delete(started);
          worker.shutdown();
          await run;
        },
      };
      workers.add(started);
      return started;
    },
    async stop() {
      await Promise.all([...workers].map((worker) => worker.stop()));
      await client.close();
      await connection.close();
      await rm(stateDir, { recursive: true, force: true });
    },
  };
}
