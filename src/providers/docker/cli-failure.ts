import type { FailureCode } from "../../contract/refs.js";
import { ProviderError } from "../errors.js";

export interface CliResult {
  readonly stdout: string;
  readonly stderr: string;
  readonly exitCode: number;
}

interface Meaning {
  readonly pattern: RegExp;
  readonly code: FailureCode;
  readonly hint?: string;
}

/** What the engine's texts mean, first match wins. The CLI has no other way to tell. */
const meanings: readonly Meaning[] = [
  {
    pattern: /permission denied.*(connect|docker daemon|docker api|dial)|dial unix.*permission denied/is,
    code: "denied",
    hint: "Let the worker's user reach the engine: add it to the docker group, or set DOCKER_HOST.",
  },
  {
    pattern:
      /cannot connect to the docker daemon|error during connect|connection refused|is the docker daemon running|failed to connect|no such host|connection reset|unexpected EOF|context deadline exceeded/i,
    code: "unavailable",
    hint: "Start the Docker engine, or point DOCKER_HOST or DOCKER_CONTEXT at a running one.",
  },
  {
    pattern: /context .*(not found|does not exist)|unable to resolve docker endpoint/i,
    code: "unavailable",
    hint: "DOCKER_CONTEXT names a context that `docker context ls` doesn't list.",
  },
  { pattern: /no such (container|object|image|network)/i, code: "not-found" },
  {
    pattern:
      /unable to find image|pull access denied|manifest .*unknown|not found: manifest|repository does not exist|image not known/i,
    code: "not-found",
    hint: "Check the image's name, or pull it on this host first.",
  },
  {
    pattern: /invalid reference format|invalid .*image|range of cpus|memory limit allowed|pids limit/i,
    code: "invalid-request",
  },
  { pattern: /is already in use by|already in use/i, code: "conflict" },
  {
    pattern: /is paused/i,
    code: "unavailable",
    hint: "The container is paused: `docker unpause` it.",
  },
  { pattern: /is not running/i, code: "closed", hint: "The sandbox is stopped: resume it." },
  { pattern: /no space left on device/i, code: "no-space", hint: "Free disk space on the engine's host." },
  {
    pattern: /requires the docker daemon to run on|unknown flag|unknown shorthand/i,
    code: "unsupported",
    hint: "Docker 20.10 or newer is needed, on both sides.",
  },
];

/** The typed error for a client that exited with another code than 0. */
export function cliFailure(args: readonly string[], result: CliResult): ProviderError {
  const text = usefulText(result.stderr) || `exit code ${result.exitCode}`;
  const meaning = meanings.find(({ pattern }) => pattern.test(result.stderr));
  return new ProviderError(meaning?.code ?? "internal", `docker ${args[0] ?? ""}: ${text}`, {
    ...(meaning?.hint === undefined ? {} : { hint: meaning.hint }),
  });
}

/** The typed error for a client that could not be started or did not exit by itself. */
export function spawnFailure(
  command: string,
  args: readonly string[],
  result: { code?: string; signal?: string; originalMessage?: string; cause?: unknown },
): ProviderError {
  const what = `docker ${args[0] ?? ""}`;
  switch (result.code) {
    case "ENOENT":
      return new ProviderError("unavailable", `the Docker CLI ${JSON.stringify(command)} was not found`, {
        hint: "Install the Docker CLI, or set HOLDFAST_DOCKER to its path.",
        cause: result.cause,
      });
    case "EACCES":
      return new ProviderError("denied", `the Docker CLI ${JSON.stringify(command)} can't be executed`, {
        hint: "HOLDFAST_DOCKER must name an executable file.",
        cause: result.cause,
      });
    case "E2BIG":
      return new ProviderError("too-large", `${what}: the arguments are larger than the system allows`, {
        hint: "Make labels, template variables and names shorter.",
        cause: result.cause,
      });
    default:
      // Killed from outside: nothing is known about what the engine did, so it is never taken for an end.
      return new ProviderError(
        "unavailable",
        result.signal === undefined
          ? `${what}: ${result.originalMessage ?? "could not be run"}`
          : `${what}: the client was killed by ${result.signal}`,
        { cause: result.cause },
      );
  }
}

/** Without the noise: the usage hint, and warnings that don't concern the failure. */
function usefulText(stderr: string): string {
  const lines = stderr
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "" && !/^(WARNING|DEPRECATED):/i.test(line))
    .filter((line) => !/^(Run|See) '.* --help'/i.test(line));
  return lines.join("; ").slice(0, 2000);
}
