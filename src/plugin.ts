import { SimplePlugin } from "@temporalio/plugin";
import type { NativeConnection, Worker, WorkerOptions } from "@temporalio/worker";
import { loadConfig, type HoldfastConfig } from "./config.js";
import { createHoldfastWorker } from "./worker.js";

/**
 * Hosts sandbox sessions in somebody's own worker process, with one line:
 *
 * ```ts
 * await Worker.create({ taskQueue: "mine", workflowsPath, plugins: [new HoldfastPlugin()] });
 * ```
 *
 * The process then serves Holdfast's queues beside its own, on the same connection and namespace, from `run()`
 * to `shutdown()`. Holdfast's own workers keep their options: heartbeat throttle, sticky timeout and shutdown
 * grace are theirs and don't touch the other worker's.
 */
export class HoldfastPlugin extends SimplePlugin {
  readonly #config: HoldfastConfig;
  #connection: NativeConnection | undefined;

  /** @param config Default: from the environment, as the CLI reads it. */
  constructor(config: HoldfastConfig = loadConfig()) {
    super({ name: "holdfast" });
    this.#config = config;
  }

  override configureWorker(options: WorkerOptions): WorkerOptions {
    this.#connection = options.connection;
    return super.configureWorker(options);
  }

  override async runWorker(worker: Worker, next: (worker: Worker) => Promise<void>): Promise<void> {
    const { namespace } = worker.options;
    const config = { ...this.#config, temporal: { ...this.#config.temporal, namespace } };
    const options = this.#connection === undefined ? {} : { connection: this.#connection };
    const holdfast = await createHoldfastWorker(config, options);
    const sessions = holdfast.run();
    // When the sessions' side fails, the process must not go on as if it served them.
    sessions.catch(() => {
      if (worker.getState() === "RUNNING") worker.shutdown();
    });
    try {
      await next(worker);
    } finally {
      holdfast.shutdown();
      await sessions;
    }
  }
}
