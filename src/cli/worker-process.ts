import { inspect } from "node:util";
import { DefaultLogger, Runtime, type LogEntry } from "@temporalio/worker";
import { HoldfastError } from "../client/index.js";
import type { HoldfastConfig } from "../config.js";
import { createHoldfastWorker } from "../worker.js";
import { endWithoutIt, shutdownForced } from "./shutdown-forced.js";

export const logLevels = ["trace", "debug", "info", "warn", "error"] as const;
export type LogLevel = (typeof logLevels)[number];

/**
 * Runs this host's worker until `signal` aborts and its shutdown is over; rejects when it fails. Signals of the
 * process are the command's business: with the runtime's own handlers it could not choose the order of the end.
 */
export async function runWorkerProcess(options: {
  readonly config: HoldfastConfig;
  readonly logLevel: LogLevel;
  readonly signal: AbortSignal;
  readonly onReady: (worker: { hostId: string; owner: string }) => void;
}): Promise<void> {
  const level = options.logLevel.toUpperCase() as Uppercase<LogLevel>;
  Runtime.install({ shutdownSignals: [], logger: new DefaultLogger(level, writeLog) });
  const worker = await createHoldfastWorker(options.config);
  // `shutdown` before `run` would be forgotten.
  const stop = (): void => {
    worker.shutdown();
  };
  const running = worker.run();
  options.signal.addEventListener("abort", stop);
  if (options.signal.aborted) stop();
  options.onReady({ hostId: worker.hostId, owner: worker.owner });
  try {
    await running;
  } catch (error) {
    const forced = shutdownForced(error);
    if (forced !== undefined) endWithoutIt();
    throw forced ?? error;
  } finally {
    options.signal.removeEventListener("abort", stop);
  }
}

/** A host's own queues carry activities only, which the SDK takes for a mistake at every start. */
const expected = "No workflows registered, not polling for workflow tasks";

function writeLog({ level, message, timestampNanos, meta }: LogEntry): void {
  if (message === expected) return;
  const time = new Date(Number(timestampNanos / 1_000_000n)).toISOString();
  const rest =
    level === "ERROR" ? inspect(meta ?? {}, { breakLength: Infinity, depth: 4 }) : brief(meta ?? {});
  process.stderr.write(`${time} [${level}] ${message} ${rest}\n`);
}

/** A failed attempt that is retried, or answered, is one line; its stack says nothing to an operator. */
function brief(meta: Record<string, unknown>): string {
  const { workflowId, activityType, attempt, error } = meta;
  const reason = error instanceof Error ? error.message : error;
  const parts = { workflowId, activityType, attempt, reason };
  return Object.entries(parts)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${typeof value === "string" ? value : inspect(value)}`)
    .join(" ");
}

export function logLevelFrom(value: string): LogLevel {
  const level = logLevels.find((name) => name === value);
  if (level !== undefined) return level;
  throw new HoldfastError("invalid-request", `--log-level: ${JSON.stringify(value)} is unknown`, {
    field: "--log-level",
    hint: `Use one of ${logLevels.join(", ")}.`,
  });
}
