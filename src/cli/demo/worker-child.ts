import { createWriteStream } from "node:fs";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import { HoldfastError } from "../../client/index.js";
import type { HoldfastConfig } from "../../config.js";

export interface WorkerChild {
  readonly pid: number;
  readonly ready: Promise<void>;
  /** SIGKILL: no goodbye, no clean-up. Resolves when it is dead. */
  kill(): Promise<void>;
  /** Orderly, by SIGTERM; fine when it is dead already. */
  stop(): Promise<void>;
}

/** `holdfast worker` as a process of its own, as an operator runs it. */
export function startWorkerChild(options: {
  readonly config: HoldfastConfig;
  readonly logFile: string;
}): WorkerChild {
  const main = fileURLToPath(new URL("../main.js", import.meta.url));
  const child = execa(process.execPath, [main, "worker", "--json", "--log-level", "warn"], {
    extendEnv: false,
    env: options.config.environment,
    stdin: "ignore",
    buffer: false,
    reject: false,
    // Longer than the worker's own grace, so that it can end by itself.
    forceKillAfterDelay: 15_000,
  });
  const log = createWriteStream(options.logFile);
  child.stderr.pipe(log);
  const ended = child.then((result) => result.shortMessage ?? "it ended by itself");
  const ready = new Promise<void>((resolve, reject) => {
    child.stdout.once("data", () => {
      resolve();
    });
    void ended.then(async (how) => {
      const said = await readFile(options.logFile, "utf8").catch(() => "");
      reject(new HoldfastError("unavailable", `The worker did not start: ${how}\n${said.slice(-2_000)}`));
    });
  });
  // Stopped before it was ready: whoever stops it knows.
  ready.catch(() => undefined);
  return {
    pid: child.pid ?? -1,
    ready,
    async kill() {
      child.kill("SIGKILL");
      await ended;
    },
    async stop() {
      child.kill("SIGTERM");
      await ended;
    },
  };
}
