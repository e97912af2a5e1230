import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { loadClientConnectConfig } from "@temporalio/envconfig";
import { z } from "zod";
import { HoldfastError } from "./client/holdfast-error.js";
import { defaultTaskQueue } from "./contract/names.js";

/** How to reach Temporal; fits the connection options of client and worker alike. */
export interface TemporalConnectionConfig {
  /** host:port */
  readonly address: string;
  readonly tls?: ReturnType<typeof loadClientConnectConfig>["connectionOptions"]["tls"];
  readonly apiKey?: string;
  readonly metadata?: Record<string, string>;
}

export interface HoldfastConfig {
  readonly temporal: {
    readonly connection: TemporalConnectionConfig;
    readonly namespace: string;
    /** False when nobody named an address: the default is then only a guess. */
    readonly addressChosen: boolean;
  };
  readonly taskQueue: string;
  /** Sessions of just-bash, host id, the dev server's database, artifacts. Absolute. */
  readonly stateDir: string;
  /** What can be fetched again (the Temporal server binary). Absolute. */
  readonly cacheDir: string;
  readonly artifactsDir: string;
  /** The only place whose files a session may name as secrets. Absolute. */
  readonly secretsDir: string;
  /** Undefined: made once and kept in the state directory, see `ensureHostId`. */
  readonly hostId: string | undefined;
  /** Undefined: the namespace's UUID, which the worker asks for. */
  readonly owner: string | undefined;
  readonly dockerCli: string;
  readonly msbCli: string | undefined;
  readonly temporalCli: string | undefined;
  /** The process environment as it was, for engines (PATH, DOCKER_HOST) and secrets. Never log it. */
  readonly environment: Readonly<Record<string, string>>;
}

/** Flags of the command line that override the environment. */
export interface ConfigFlags {
  readonly address?: string | undefined;
  readonly namespace?: string | undefined;
  readonly profile?: string | undefined;
  readonly taskQueue?: string | undefined;
  readonly stateDir?: string | undefined;
  readonly hostId?: string | undefined;
}

const path = z
  .string()
  .min(1, "is empty")
  .transform((value) => resolve(value));
const word = z.string().min(1, "is empty").max(1000);

/** Part of queue names and labels, so without separators of either. */
const hostId = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$/, "must be letters, digits, dots, dashes and underscores");
const address = z
  .string()
  .regex(/^(\[[0-9A-Fa-f:.]+\]|[^\s:/[\]]+)(:\d{1,5})?$/, 'must be "host:port", without a scheme')
  .refine(
    (value) => Number(/:(\d+)$/.exec(value.replace(/^\[.*\]/, ""))?.[1] ?? 1) <= 65_535,
    "has no such port",
  );

const variables = z.object({
  TEMPORAL_ADDRESS: address.optional(),
  TEMPORAL_NAMESPACE: word.optional(),
  HOLDFAST_TASK_QUEUE: word
    .refine((value) => !value.includes("@"), "must not contain @, which starts a host's name")
    .default(defaultTaskQueue),
  HOLDFAST_STATE_DIR: path.optional(),
  HOLDFAST_HOST_ID: hostId.optional(),
  HOLDFAST_OWNER: word.optional(),
  HOLDFAST_ARTIFACTS: path.optional(),
  HOLDFAST_SECRETS_DIR: path.optional(),
  HOLDFAST_DOCKER: word.default("docker"),
  HOLDFAST_MSB: word.optional(),
  HOLDFAST_TEMPORAL_CLI: path.optional(),
  XDG_STATE_HOME: z.string().optional(),
  XDG_CACHE_HOME: z.string().optional(),
});

/**
 * Environment and flags (which win) as one frozen value. Throws `HoldfastError` `invalid-request` that names
 * the variable.
 */
export function loadConfig(
  options: { env?: Readonly<Record<string, string | undefined>>; flags?: ConfigFlags } = {},
): HoldfastConfig {
  const { flags = {} } = options;
  const environment = present(options.env ?? process.env);
  refuseUnknown(environment);
  const values = parseVariables({
    ...environment,
    ...present({
      TEMPORAL_ADDRESS: flags.address,
      TEMPORAL_NAMESPACE: flags.namespace,
      HOLDFAST_TASK_QUEUE: flags.taskQueue,
      HOLDFAST_STATE_DIR: flags.stateDir,
      HOLDFAST_HOST_ID: flags.hostId,
    }),
  });
  const home = environment.HOME ?? homedir();
  const stateDir = values.HOLDFAST_STATE_DIR ?? userDir(values.XDG_STATE_HOME, join(home, ".local/state"));
  return Object.freeze({
    temporal: loadTemporal(environment, flags),
    taskQueue: values.HOLDFAST_TASK_QUEUE,
    stateDir,
    cacheDir: userDir(values.XDG_CACHE_HOME, join(home, ".cache")),
    artifactsDir: values.HOLDFAST_ARTIFACTS ?? join(stateDir, "artifacts"),
    secretsDir: values.HOLDFAST_SECRETS_DIR ?? join(stateDir, "secrets"),
    hostId: values.HOLDFAST_HOST_ID,
    owner: values.HOLDFAST_OWNER,
    dockerCli: values.HOLDFAST_DOCKER,
    msbCli: values.HOLDFAST_MSB,
    temporalCli: values.HOLDFAST_TEMPORAL_CLI,
    environment: Object.freeze(environment),
  });
}

/** TEMPORAL_* and temporal.toml mean what they mean to every other program on Temporal. */
function loadTemporal(environment: Record<string, string>, flags: ConfigFlags): HoldfastConfig["temporal"] {
  const { connectionOptions, namespace } = loadProfile(environment, flags.profile);
  const chosen = flags.address ?? connectionOptions.address;
  const { tls, apiKey } = connectionOptions;
  const metadata = connectionOptions.metadata as Record<string, string> | undefined;
  return Object.freeze({
    connection: Object.freeze({
      address: chosen ?? "127.0.0.1:7233",
      ...(tls === undefined ? {} : { tls }),
      ...(apiKey === undefined ? {} : { apiKey }),
      ...(metadata === undefined ? {} : { metadata }),
    }),
    namespace: flags.namespace ?? namespace ?? "default",
    addressChosen: chosen !== undefined,
  });
}

function loadProfile(
  environment: Record<string, string>,
  profile: string | undefined,
): ReturnType<typeof loadClientConnectConfig> {
  try {
    return loadClientConnectConfig({
      overrideEnvVars: environment,
      ...(profile === undefined ? {} : { profile }),
    });
  } catch (error) {
    throw new HoldfastError(
      "invalid-request",
      `Temporal's client configuration can't be read: ${String(error)}`,
      {
        field: "TEMPORAL_PROFILE",
        hint: "Check TEMPORAL_PROFILE, TEMPORAL_CONFIG_FILE, the TEMPORAL_TLS_* paths, and the file they name.",
        cause: error,
      },
    );
  }
}

function parseVariables(environment: Record<string, string>): z.infer<typeof variables> {
  const parsed = variables.safeParse(environment);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const name = String(issue?.path[0]);
  throw new HoldfastError(
    "invalid-request",
    `${name}=${JSON.stringify(environment[name])}: ${issue?.message ?? "invalid"}`,
    { field: name, hint: `Correct ${name} (or its flag), or leave it unset for the default.` },
  );
}

/** A misspelt variable would silently mean the default: another state directory, another owner. */
function refuseUnknown(environment: Record<string, string>): void {
  const known = Object.keys(variables.shape).filter((name) => name.startsWith("HOLDFAST_"));
  for (const name of Object.keys(environment)) {
    if (!name.startsWith("HOLDFAST_") || name.startsWith("HOLDFAST_TEST_") || known.includes(name)) continue;
    throw new HoldfastError("invalid-request", `${name} is not a variable that Holdfast knows.`, {
      field: name,
      hint: `Unset it, or use one of ${known.join(", ")}.`,
    });
  }
}

/** The XDG rules: an unset, empty or relative base means the default below the home directory. */
function userDir(base: string | undefined, fallback: string): string {
  return join(base?.startsWith("/") ? base : fallback, "holdfast");
}

function present(values: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(values).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}
