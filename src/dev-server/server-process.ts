import { createWriteStream } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { execa } from "execa";

export interface ServerProcess {
  /** The server itself, also the id of its process group. */
  readonly pid: number;
  /** Resolves when it has ended, with how. */
  readonly ended: Promise<string>;
  /** Its last output, for the error when it does not start. */
  readonly logTail: () => string;
  /** TERM, grace, KILL to the whole group; resolves when none of it is left. */
  readonly stop: () => Promise<void>;
}

/**
 * In its own process group: a Ctrl-C in the terminal must reach us first, so that the worker can say goodbye to
 * a server that still answers. In return nothing ends it when we are killed, so a watchdog in the same group
 * waits for the end of our pipe.
 */
const watchdog =
  'exec 3<&0 </dev/null; (cat <&3 >/dev/null; kill -TERM $$) >/dev/null 2>&1 & exec 3<&-; exec "$@"';

const stopGraceMs = 10_000;

export function spawnServer(options: {
  readonly file: string;
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly logFile?: string | undefined;
}): ServerProcess {
  const child = execa("sh", ["-c", watchdog, "holdfast-dev-server", options.file, ...options.args], {
    detached: true,
    cleanup: false,
    buffer: false,
    reject: false,
    extendEnv: false,
    env: options.environment,
    all: true,
  });
  const { pid } = child;
  let tail = "";
  const log = options.logFile === undefined ? undefined : createWriteStream(options.logFile, { flags: "a" });
  child.all.on("data", (chunk: Buffer) => {
    tail = (tail + chunk.toString("utf8")).slice(-8_192);
    log?.write(chunk);
  });
  const ended = child.then(async (result) => {
    // The watchdog outlives a server that ends by itself; while it lives, the group's id can't be another's.
    if (pid !== undefined) await endGroup(pid);
    if (log !== undefined) await new Promise<void>((resolve) => log.end(resolve));
    return result.shortMessage ?? "it ended by itself (exit code 0)";
  });
  if (pid === undefined)
    return { pid: -1, ended, logTail: () => tail, stop: () => ended.then(() => undefined) };
  return {
    pid,
    ended,
    logTail: () => tail,
    async stop() {
      signalGroup(pid, "SIGTERM");
      const forced = new AbortController();
      const graceOver = sleep(stopGraceMs, undefined, { signal: forced.signal }).then(
        () => {
          signalGroup(pid, "SIGKILL");
        },
        // Aborted: it ended within the grace.
        () => undefined,
      );
      await ended;
      forced.abort();
      await graceOver;
    },
  };
}

/** A killed process stays in the table until its new parent, init, has seen it: milliseconds where init works. */
const reapPatienceMs = 2_000;

async function endGroup(pid: number): Promise<void> {
  const until = Date.now() + reapPatienceMs;
  while (signalGroup(pid, "SIGKILL") && Date.now() < until) await sleep(10);
}

/** False when nothing is left of the group. */
function signalGroup(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(-pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ESRCH") return false;
    throw error;
  }
}
