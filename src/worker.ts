import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { NativeConnection, Worker, type WorkerOptions } from "@temporalio/worker";
import { createActivities, type ActivityDeps } from "./activities/index.js";
import { createLocalArtifactStore } from "./artifacts/local-artifact-store.js";
import type { HoldfastConfig } from "./config.js";
import type { RollOverThresholds } from "./contract/activities.js";
import { controlTaskQueue, hostTaskQueue, limits } from "./contract/names.js";
import { createChannelPool } from "./exec/channel-pool.js";
import { createSecretResolver } from "./exec/secrets.js";
import { ensureHostId } from "./host-id.js";
import { createHostSecrets } from "./host-secrets.js";
import { createDockerProvider } from "./providers/docker/docker-provider.js";
import { createFakeProvider } from "./providers/fake/provider.js";
import { createJustBashProvider } from "./providers/just-bash/provider.js";
import type { Provider } from "./providers/provider.js";
import { createProviderRegistry } from "./providers/registry.js";
import { lastPollMs, namespaceId } from "./temporal-facts.js";
import { createTools } from "./tools/index.js";
import { workerDefaults } from "./worker-options.js";

/** A host's worker: workflows, and everything on this host's queues, in one process. */
export interface HoldfastWorker {
  readonly hostId: string;
  readonly owner: string;
  /** Resolves after a shutdown, when nothing runs any more; rejects when a part of it fails. */
  run(): Promise<void>;
  /** Stops polling. Commands go on in their sandboxes, and the next worker of this host attaches to them. */
  shutdown(): void;
}

export interface HoldfastWorkerOptions {
  /** Default: made from the configuration, and closed with the worker. */
  readonly connection?: NativeConnection;
  /** Default: what this release brings. */
  readonly providers?: (host: ProviderHost) => Promise<readonly Provider[]>;
  /** When a session hands over to a new run. Default: the server's suggestion, and 1,500 updates. */
  readonly rollOver?: Partial<RollOverThresholds>;
  /** Beside this worker's own; for tuning. */
  readonly workerOptions?: Partial<WorkerOptions>;
}

export interface ProviderHost {
  readonly stateDir: string;
  readonly hostId: string;
  readonly owner: string;
}

/** A docker client costs 25 MB, and a worker serves many sessions of which few are busy at once. */
const maxChannels = 64;

/** Composition root: the one place that knows every part. */
export async function createHoldfastWorker(
  config: HoldfastConfig,
  options: HoldfastWorkerOptions = {},
): Promise<HoldfastWorker> {
  const { namespace } = config.temporal;
  const hostId = await ensureHostId(config);
  const connection = options.connection ?? (await NativeConnection.connect(config.temporal.connection));
  const owner = config.owner ?? (await namespaceId(connection, namespace));
  const host = { stateDir: config.stateDir, hostId, owner };
  const providers = createProviderRegistry(
    await (options.providers?.(host) ?? defaultProviders(host, config)),
  );
  const pool = createChannelPool({
    hostId,
    maxChannels,
    connect: (handle, context) => providers.get(handle.provider).connect(handle, context),
  });
  const deps: ActivityDeps = {
    hostId,
    taskQueue: config.taskQueue,
    providers,
    calls: {
      pool,
      artifacts: createLocalArtifactStore({ directory: config.artifactsDir }),
      secrets: createSecretResolver(
        createHostSecrets({ environment: config.environment, directory: config.secretsDir }),
      ),
      tools: createTools(),
    },
    rollOver: {
      updates: limits.updatesPerRun,
      historyEvents: Number.MAX_SAFE_INTEGER,
      ...options.rollOver,
    },
    lastPollMs: (taskQueue) => lastPollMs(connection, { namespace, taskQueue }),
  };
  const { shared, host: hostActivities, control } = createActivities(deps);
  const common = { ...workerDefaults, ...options.workerOptions, connection, namespace };
  const workers = await Promise.all([
    Worker.create({
      ...common,
      taskQueue: config.taskQueue,
      workflowBundle: { codePath: workflowBundlePath() },
      activities: shared,
    }),
    Worker.create({
      ...common,
      taskQueue: hostTaskQueue(config.taskQueue, hostId),
      activities: hostActivities,
    }),
    Worker.create({
      ...common,
      taskQueue: controlTaskQueue(config.taskQueue, hostId),
      activities: control,
    }),
  ]);

  const shutdown = (): void => {
    for (const worker of workers) if (worker.getState() === "RUNNING") worker.shutdown();
  };
  return {
    hostId,
    owner,
    shutdown,
    async run() {
      const ends = await Promise.allSettled(
        workers.map(async (worker) => {
          try {
            await worker.run();
          } finally {
            // One that ends takes the others with it: half a worker would hold sessions without serving them.
            shutdown();
          }
        }),
      );
      // Only now: a connection can't be closed while a worker drains on it.
      await pool.close();
      await providers.close();
      if (options.connection === undefined) await connection.close();
      const failed = ends.find((end) => end.status === "rejected");
      if (failed !== undefined) throw failed.reason;
    },
  };
}

async function defaultProviders(host: ProviderHost, config: HoldfastConfig): Promise<readonly Provider[]> {
  const docker = createDockerProvider({
    ...host,
    command: config.dockerCli,
    environment: config.environment,
    // Beside the package's `dist`, and beside `src` in a checkout.
    guestDirectory: fileURLToPath(new URL("../guest/bin", import.meta.url)),
  });
  // Asks nothing of an engine before a session wants one: a host without Docker serves the others.
  return [await createJustBashProvider(host), docker, createFakeProvider({ hostId: host.hostId })];
}

/** Made by the build; sources that run uncompiled use the one of the last build. */
function workflowBundlePath(): string {
  const beside = fileURLToPath(new URL("./workflow-bundle.js", import.meta.url));
  return existsSync(beside) ? beside : fileURLToPath(new URL("../dist/workflow-bundle.js", import.meta.url));
}
