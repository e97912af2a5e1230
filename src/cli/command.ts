import { defineCommand, type ArgsDef, type CommandDef, type ParsedArgs } from "citty";
import { createHoldfastClient, HoldfastError, type HoldfastClient } from "../client/index.js";
import { loadConfig, type HoldfastConfig } from "../config.js";
import { createReporter, type Reporter } from "./reporter.js";

/** Flags that every command has. */
const commonArgs = {
  json: { type: "boolean", description: "Print one JSON document on stdout" },
  address: { type: "string", valueHint: "host:port", description: "Temporal server (TEMPORAL_ADDRESS)" },
  namespace: { type: "string", valueHint: "name", description: "Temporal namespace (TEMPORAL_NAMESPACE)" },
  profile: { type: "string", valueHint: "name", description: "Profile of temporal.toml (TEMPORAL_PROFILE)" },
  "task-queue": { type: "string", valueHint: "name", description: "Shared queue (HOLDFAST_TASK_QUEUE)" },
  "state-dir": { type: "string", valueHint: "directory", description: "State (HOLDFAST_STATE_DIR)" },
} as const satisfies ArgsDef;

export interface CliContext<T extends ArgsDef> {
  readonly args: ParsedArgs<T>;
  readonly config: HoldfastConfig;
  readonly report: Reporter;
  /** Made at the first use, closed after the command. */
  readonly client: () => HoldfastClient;
}

/** One command: its flags as data, what it does as `run`, which returns the exit code (none: 0). */
export function command<const T extends ArgsDef>(definition: {
  readonly name: string;
  readonly description: string;
  readonly args: T;
  run(context: CliContext<T>): Promise<number | undefined>;
}): CommandDef {
  const { name, description } = definition;
  const args: ArgsDef = { ...definition.args, ...commonArgs };
  return defineCommand({
    meta: { name, description },
    args,
    async run({ args: untyped }) {
      const parsed: Record<string, unknown> & { _: string[] } = untyped;
      refuseUnknown(name, args, parsed);
      const config = loadConfig({
        flags: {
          address: text(parsed.address),
          namespace: text(parsed.namespace),
          profile: text(parsed.profile),
          taskQueue: text(parsed["task-queue"]),
          stateDir: text(parsed["state-dir"]),
        },
      });
      let client: HoldfastClient | undefined;
      try {
        const exitCode = await definition.run({
          args: parsed as unknown as ParsedArgs<T>,
          config,
          report: createReporter({ json: parsed.json === true }),
          client: () => (client ??= clientFor(config)),
        });
        process.exitCode = exitCode ?? 0;
      } finally {
        await client?.close();
      }
    },
  });
}

export function clientFor(config: HoldfastConfig): HoldfastClient {
  const { connection, namespace } = config.temporal;
  return createHoldfastClient({
    ...connection,
    namespace,
    taskQueue: config.taskQueue,
    artifacts: config.artifactsDir,
  });
}

/** The parser lets everything pass; a mistyped flag would silently be the default. */
function refuseUnknown(name: string, args: ArgsDef, parsed: Record<string, unknown> & { _: string[] }): void {
  const plain = (flag: string): string => flag.replace(/-/g, "").toLowerCase();
  const aliases = Object.values(args).flatMap((arg) => ("alias" in arg ? (arg.alias ?? []) : []));
  const known = new Set([...Object.keys(args), ...aliases].map(plain));
  const hint = `\`holdfast ${name} --help\` shows the usage.`;
  for (const flag of Object.keys(parsed)) {
    if (flag === "_" || known.has(plain(flag))) continue;
    throw new HoldfastError(
      "invalid-request",
      `${name} has no flag ${flag.length === 1 ? "-" : "--"}${flag}.`,
      { hint },
    );
  }
  const positionals = Object.values(args).filter((arg) => arg.type === "positional").length;
  if (parsed._.length <= positionals) return;
  const extra = parsed._.slice(positionals).join(" ");
  throw new HoldfastError("invalid-request", `${name}: one argument too many: ${extra}`, {
    hint: `Quote what belongs together. ${hint}`,
  });
}

function text(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}
