import { execa } from "execa";
import type { GuestTransport } from "../../exec/guest-transport.js";
import { ProviderError } from "../errors.js";
import { cancelled } from "./cancelled.js";
import { cliFailure, spawnFailure, type CliResult } from "./cli-failure.js";
import { killGroup } from "./kill-group.js";
import { openTransport } from "./open-transport.js";

/** Output beyond this ends the client: no answer of the engine that we read comes near it. */
const maxOutputBytes = 16 * 1024 * 1024;
/** Between TERM and KILL of a client that runs over its time. */
const killDelayMs = 2_000;

/** The only variables a client gets: a session's own must never steer it. */
const passedVariables = [
  "HOME",
  "PATH",
  "TEMP",
  "TMP",
  "TMPDIR",
  "DOCKER_HOST",
  "DOCKER_CONTEXT",
  "DOCKER_CONFIG",
  "DOCKER_CERT_PATH",
  "DOCKER_TLS_VERIFY",
] as const;

export interface DockerCliOptions {
  /** Name on PATH or path of the CLI. */
  readonly command: string;
  /** The worker's environment; of it, only an allowlist reaches the client. */
  readonly environment: Readonly<Record<string, string>>;
}

export interface CliRequest {
  readonly args: readonly string[];
  readonly timeoutMs: number;
  /** Ends the client. Left out where a killed client would leave the engine working unseen. */
  readonly signal?: AbortSignal;
  readonly input?: string | Uint8Array;
  /** Each line of stdout and stderr as it comes. */
  onLine?(line: string): void;
}

export interface DockerCli {
  /** Runs to the end. An exit code is a value; a client that was killed, timed out or missing throws. */
  run(request: CliRequest): Promise<CliResult>;
  /** The same, but an exit code other than 0 throws what its stderr means. Returns stdout. */
  require(request: CliRequest): Promise<string>;
  /** Starts a client whose stdin and stdout are a connection. */
  open(args: readonly string[]): Promise<GuestTransport>;
  /** Address of the engine this CLI talks to, fixed at the first use. */
  endpoint(): Promise<string>;
}

export function createDockerCli(options: DockerCliOptions): DockerCli {
  const environment: Record<string, string> = {};
  for (const name of passedVariables) {
    const value = options.environment[name];
    if (value !== undefined) environment[name] = value;
  }
  let pinned: Promise<Endpoint> | undefined;

  const pin = (): Promise<Endpoint> => {
    pinned ??= findEndpoint(options.command, environment).catch((error: unknown) => {
      pinned = undefined;
      throw error;
    });
    return pinned;
  };

  const run = async (request: CliRequest): Promise<CliResult> =>
    execute(options.command, (await pin()).environment, request);

  return {
    run,
    async require(request) {
      const result = await run(request);
      if (result.exitCode !== 0) throw cliFailure(request.args, result);
      return result.stdout;
    },
    open: async (args) => openTransport(options.command, args, (await pin()).environment),
    endpoint: async () => (await pin()).address,
  };
}

interface Endpoint {
  readonly address: string;
  readonly environment: Readonly<Record<string, string>>;
}

/**
 * Asks the CLI which engine it means and holds it there: with `docker context use` in the middle of a session,
 * the next command would look for the container on another engine and call the session lost.
 */
async function findEndpoint(
  command: string,
  environment: Readonly<Record<string, string>>,
): Promise<Endpoint> {
  const args = ["context", "inspect", "--format", "{{.Name}}\n{{.Endpoints.docker.Host}}"];
  // Reads local files only, so 10 s means a broken installation.
  const result = await execute(command, environment, { args, timeoutMs: 10_000 });
  if (result.exitCode === 0) {
    const [name = "", address = ""] = result.stdout.split("\n");
    const isPinned = environment["DOCKER_HOST"] !== undefined || name === "";
    return { address, environment: isPinned ? environment : { ...environment, DOCKER_CONTEXT: name } };
  }
  // A CLI with the same commands but without contexts (podman): DOCKER_HOST is all there is to know.
  if (/unknown command|unrecognized command|not a docker command/i.test(result.stderr)) {
    return { address: environment["DOCKER_HOST"] ?? "local", environment };
  }
  throw cliFailure(args, result);
}

async function execute(
  command: string,
  environment: Readonly<Record<string, string>>,
  request: CliRequest,
): Promise<CliResult> {
  throwIfAborted(request);
  const child = execa(command, request.args, {
    env: { ...environment },
    extendEnv: false,
    // Its own group: an interrupt of the worker's terminal is no interrupt of the engine's work, and what the
    // client started (plugins, wrappers) ends with it.
    detached: true,
    reject: false,
    maxBuffer: maxOutputBytes,
    stripFinalNewline: true,
    ...(request.input === undefined ? { stdin: "ignore" as const } : { input: request.input }),
  });

  let endedBy: "timeout" | "abort" | undefined;
  let killTimer: NodeJS.Timeout | undefined;
  const end = (reason: "timeout" | "abort"): void => {
    if (endedBy !== undefined) return;
    endedBy = reason;
    killGroup(child.pid, "SIGTERM");
    killTimer = setTimeout(() => {
      killGroup(child.pid, "SIGKILL");
    }, killDelayMs);
  };
  const onAbort = (): void => {
    end("abort");
  };
  const timer = setTimeout(() => {
    end("timeout");
  }, request.timeoutMs);
  request.signal?.addEventListener("abort", onAbort, { once: true });
  if (request.onLine !== undefined) reportLines(child, request.onLine.bind(request));
  try {
    const result = await child;
    if (endedBy === "abort") throwIfAborted(request);
    if (endedBy === "timeout") {
      throw new ProviderError(
        "unavailable",
        `docker ${request.args[0] ?? ""}: no answer within ${request.timeoutMs} ms`,
        { hint: "Is the engine overloaded or stuck? `docker info` shows whether it answers." },
      );
    }
    if (result.exitCode === undefined) throw spawnFailure(command, request.args, result);
    if (result.isMaxBuffer) {
      throw new ProviderError("internal", `docker ${request.args[0] ?? ""}: more output than expected`);
    }
    return { stdout: result.stdout, stderr: result.stderr, exitCode: result.exitCode };
  } finally {
    clearTimeout(timer);
    clearTimeout(killTimer);
    request.signal?.removeEventListener("abort", onAbort);
  }
}

function reportLines(child: ReturnType<typeof execa>, onLine: (line: string) => void): void {
  const forward = async (from: "stdout" | "stderr"): Promise<void> => {
    for await (const line of child.iterable({ from })) onLine(String(line));
  };
  // A failing client is reported where its result is awaited; here its lines just end.
  forward("stdout").catch(() => undefined);
  forward("stderr").catch(() => undefined);
}

function throwIfAborted({ args, signal }: CliRequest): void {
  if (signal?.aborted !== true) return;
  throw cancelled(`docker ${args[0] ?? ""}`, signal);
}
