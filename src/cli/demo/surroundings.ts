import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import type { HoldfastClient } from "../../client/index.js";
import { loadConfig, type HoldfastConfig } from "../../config.js";
import { startDevServer, type DevServer } from "../../dev-server/index.js";
import { clientFor } from "../command.js";
import { startWorkerChild, type WorkerChild } from "./worker-child.js";

/** A whole installation of its own, in a temporary directory: nothing of the user's is touched. */
export interface Surroundings {
  readonly stateDir: string;
  readonly server: DevServer;
  readonly client: HoldfastClient;
  readonly config: HoldfastConfig;
  /** Every process that was started, also those that ended. */
  readonly pids: readonly number[];
  startWorker(): Promise<WorkerChild>;
  /** What the workers logged last: for the error, since their logs go with everything else. */
  lastWords(): Promise<string>;
  /** Ends and removes everything; resolves when it is gone. */
  close(): Promise<void>;
}

export async function createSurroundings(options: {
  readonly config: HoldfastConfig;
  readonly signal: AbortSignal;
  readonly onProgress: (message: string) => void;
}): Promise<Surroundings> {
  const stateDir = await mkdtemp(join(tmpdir(), "holdfast-demo-"));
  const undo: (() => Promise<unknown>)[] = [() => rm(stateDir, { recursive: true, force: true })];
  const close = async (): Promise<void> => {
    for (const step of undo.splice(0).reverse()) await step();
  };
  try {
    const server = await startDevServer({ ...options, logFile: join(stateDir, "temporal.log") });
    undo.push(() => server.stop());
    const config = ownConfig(options.config, stateDir, server.address);
    const client = clientFor(config);
    undo.push(() => client.close());
    const pids = [server.pid];
    const logFiles: string[] = [];
    return {
      stateDir,
      server,
      client,
      config,
      pids,
      close,
      async lastWords() {
        const logs = await Promise.all(logFiles.map((file) => readFile(file, "utf8")));
        return logs.map((text) => text.slice(-2_000)).join("\n");
      },
      async startWorker() {
        const logFile = join(stateDir, `worker-${pids.length}.log`);
        logFiles.push(logFile);
        const worker = startWorkerChild({ config, logFile });
        undo.push(() => worker.stop());
        pids.push(worker.pid);
        await worker.ready;
        return worker;
      },
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The user's engines and PATH, and nothing else of the user's settings. */
function ownConfig(config: HoldfastConfig, stateDir: string, address: string): HoldfastConfig {
  const kept = Object.entries(config.environment).filter(
    ([name]) => !name.startsWith("TEMPORAL_") && !name.startsWith("HOLDFAST_"),
  );
  return loadConfig({
    env: {
      ...Object.fromEntries(kept),
      TEMPORAL_ADDRESS: address,
      TEMPORAL_CONFIG_FILE: join(stateDir, "none.toml"),
      HOLDFAST_STATE_DIR: stateDir,
      HOLDFAST_HOST_ID: "demo-host",
      // Of this run alone: what is labelled so may be removed at the end, whoever else shows the demo here.
      HOLDFAST_OWNER: basename(stateDir),
      HOLDFAST_DOCKER: config.dockerCli,
      ...(config.msbCli === undefined ? {} : { HOLDFAST_MSB: config.msbCli }),
    },
  });
}
