import { ProviderError } from "../errors.js";
import type { Provider } from "../provider.js";
import { CallRunner } from "./call-runner.js";
import { capabilities } from "./capabilities.js";
import { JustBashChannel, runningSession } from "./channel.js";
import { check } from "./check.js";
import type { Host } from "./host.js";
import { onDisk } from "./durable-file.js";
import { createLayout, sessionPaths } from "./layout.js";
import { openSession } from "./meta.js";
import { prepare } from "./prepare.js";
import { remove } from "./remove.js";
import { resume } from "./resume.js";
import { start } from "./start.js";
import { stop } from "./stop.js";
import { sweep } from "./sweep.js";
import { createThreadPool } from "./thread-pool.js";

export interface JustBashOptions {
  /** Directory of this installation on this host; templates and sessions are kept beneath it. */
  readonly stateDir: string;
  readonly hostId: string;
  /** Names the installation: sweeps touch nothing of another one. */
  readonly owner: string;
  /** The compiled entry of the worker threads. */
  readonly threadEntry?: URL;
  /** Threads of this process, all sessions together. */
  readonly maxThreads?: number;
  /** How long an unused thread is kept. */
  readonly threadIdleMs?: number;
}

/** A thread costs some 40 MB: this many are a bounded part of a worker's memory. */
const defaultMaxThreads = 16;
/** Long enough to serve an agent's next call without the 150 ms of a new thread. */
const defaultThreadIdleMs = 30_000;

/** Simulated bash inside the worker process. Needs nothing on the host; isolates nothing. */
export async function createJustBashProvider(options: JustBashOptions): Promise<Provider> {
  if (options.owner === "" || options.hostId === "") {
    throw new ProviderError("invalid-request", "owner and hostId must not be empty", {
      hint: "Without an owner, a sweep could not tell this installation's sandboxes from another's.",
    });
  }
  const pool = createThreadPool({
    entry: options.threadEntry ?? new URL("./thread.js", import.meta.url),
    maxThreads: options.maxThreads ?? defaultMaxThreads,
    idleMs: options.threadIdleMs ?? defaultThreadIdleMs,
  });
  const runner = new CallRunner(pool);
  const layout = await createLayout(options.stateDir);
  const host: Host = { hostId: options.hostId, owner: options.owner, layout, pool, runner };

  return {
    name: "just-bash",
    capabilities: () => Promise.resolve(capabilities),
    check,
    prepare: (spec, context) => prepare(host, spec, context),
    start: (request, context) => start(host, request, context),
    resume: (handle) => onDisk(() => resume(host, handle)),
    stop: (handle, stopOptions, context) => stop(host, handle, stopOptions, context),
    remove: (target, context) => remove(host, target, context),
    async connect(handle) {
      const { directory } = await openSession(host, handle);
      const meta = await runningSession(directory);
      // Whoever opens a channel is about to use it, and a new thread takes 150 ms.
      pool.warm(sessionPaths(directory).root, meta.memoryBytes);
      return new JustBashChannel(directory, meta, runner);
    },
    setNetworkPolicy: () =>
      Promise.reject(
        new ProviderError("unsupported", "just-bash can't change the network of a running session", {
          hint: "Start a new session with the policy, or use the docker provider.",
        }),
      ),
    sweep: (query, context) => sweep(host, query, context),
    async close() {
      await runner.close();
      await pool.close();
    },
  };
}
