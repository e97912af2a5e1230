import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import { HoldfastError } from "../client/holdfast-error.js";
import { loadConfig, type HoldfastConfig } from "../config.js";
import { findTemporalCli } from "./find-temporal-cli.js";
import { canListen, freePort } from "./free-port.js";
import { spawnServer, type ServerProcess } from "./server-process.js";
import { waitUntilHealthy } from "./wait-until-healthy.js";

export interface DevServerOptions {
  /** Default: `loadConfig()`. */
  readonly config?: HoldfastConfig;
  /** Keeps all state in this file; without it the state ends with the server. */
  readonly dbFilename?: string;
  /** Default false. */
  readonly ui?: boolean;
  /** Default: a free one. */
  readonly port?: number;
  /** Default: a free one. */
  readonly uiPort?: number;
  /** Beside `default`. */
  readonly namespaces?: readonly string[];
  readonly dynamicConfig?: Readonly<Record<string, string | number | boolean>>;
  /** Default `warn`. */
  readonly logLevel?: "debug" | "info" | "warn" | "error" | "never";
  /** Gets all that the server says; only its end is kept otherwise. */
  readonly logFile?: string;
  readonly onProgress?: (message: string) => void;
  readonly signal?: AbortSignal;
}

export interface DevServer {
  readonly address: string;
  readonly uiUrl: string | undefined;
  readonly pid: number;
  readonly serverVersion: string;
  /** Resolves when the server has ended, by `stop` or by itself, with how. */
  readonly ended: Promise<string>;
  /** Resolves when no process of it is left. */
  stop(): Promise<void>;
}

/**
 * By default the server hands out a session's activities on a 50 ms grid (20 polls a second and shard), several
 * times what a call takes.
 */
const quickPolls = { "history.transferProcessorMaxPollRPS": 10_000 };

/** Between choosing a free port and listening on it another process may take it. */
const attempts = 3;

/**
 * Starts Temporal's dev server (found as `findTemporalCli` says) and resolves when it answers. It ends with this
 * process, whatever ends that. Throws `unavailable` with the server's own words.
 */
export async function startDevServer(options: DevServerOptions = {}): Promise<DevServer> {
  const config = options.config ?? loadConfig();
  const cli = await findTemporalCli({ config, onProgress: options.onProgress, signal: options.signal });
  if (options.dbFilename !== undefined) await mkdir(dirname(options.dbFilename), { recursive: true });
  for (const chosen of [options.port, options.uiPort]) await claim(chosen);
  for (let attempt = 1; ; attempt++) {
    const port = options.port ?? (await freePort());
    const uiPort = options.ui === true ? (options.uiPort ?? (await freePort())) : undefined;
    const server = spawnServer({
      file: cli.path,
      args: serverArgs(options, port, uiPort),
      environment: config.environment,
      logFile: options.logFile,
    });
    const address = `127.0.0.1:${port}`;
    options.onProgress?.(`Starting the Temporal dev server ${cli.serverVersion} on ${address}`);
    try {
      await waitUntilHealthy({
        address,
        namespaces: ["default", ...(options.namespaces ?? [])],
        server,
        signal: options.signal,
      });
      return {
        address,
        uiUrl: uiPort === undefined ? undefined : `http://127.0.0.1:${uiPort}`,
        pid: server.pid,
        serverVersion: cli.serverVersion,
        ended: server.ended,
        stop: server.stop,
      };
    } catch (error) {
      await server.stop();
      const unlucky = /address already in use|can't (bind|set \S* port)/i.test(server.logTail());
      if (unlucky && attempt < attempts) continue;
      throw startFailed(error, server, address);
    }
  }
}

/** The server of a process that was killed a moment ago needs a second or two to end. */
const portPatienceMs = 5_000;

async function claim(port: number | undefined): Promise<void> {
  if (port === undefined || (await canListen(port, { patienceMs: portPatienceMs }))) return;
  throw new HoldfastError("conflict", `Port ${port} of this machine is taken.`, {
    field: "port",
    hint:
      "Choose another port, stop the program that listens there, or, if that is a Temporal server, use it: " +
      `TEMPORAL_ADDRESS=127.0.0.1:${port}.`,
  });
}

function serverArgs(options: DevServerOptions, port: number, uiPort: number | undefined): string[] {
  return [
    ...["server", "start-dev", "--ip", "127.0.0.1", "--port", String(port)],
    ...(uiPort === undefined ? ["--headless"] : ["--ui-port", String(uiPort), "--ui-disable-news-fetch"]),
    ...(options.dbFilename === undefined ? [] : ["--db-filename", options.dbFilename]),
    ...(options.namespaces ?? []).flatMap((namespace) => ["--namespace", namespace]),
    ...Object.entries({ ...quickPolls, ...options.dynamicConfig }).flatMap(([key, value]) => [
      "--dynamic-config-value",
      `${key}=${JSON.stringify(value)}`,
    ]),
    ...["--log-level", options.logLevel ?? "warn", "--color", "never"],
  ];
}

function startFailed(error: unknown, server: ServerProcess, address: string): unknown {
  if (!(error instanceof Error) || error.name === "AbortError") return error;
  const said = server.logTail().trim().split("\n").slice(-5).join("\n  ");
  return new HoldfastError(
    "unavailable",
    `The Temporal dev server on ${address} did not start: ${error.message}${said === "" ? "" : `\n  ${said}`}`,
    { hint: "See the server's words above; `holdfast doctor` checks the surroundings.", cause: error },
  );
}
