import { readFileSync } from "node:fs";
import { stripVTControlCharacters } from "node:util";
import { defineCommand, renderUsage, runCommand, type CommandDef } from "citty";
import { exitCodes, exitCodeTable } from "./exit-codes.js";
import { reportError } from "./reporter.js";

const group = (
  name: string,
  description: string,
  subCommands: CommandDef["subCommands"] & object,
): CommandDef => defineCommand({ meta: { name, description }, subCommands });

/** Commands load what they need when they run: `session list` has no use for a worker's code. */
const session = group("session", "Use sandbox sessions", {
  start: () => import("./commands/session-start.js").then((module) => module.default),
  bash: () => import("./commands/session-bash.js").then((module) => module.default),
  call: () => import("./commands/session-call.js").then((module) => module.default),
  state: () => import("./commands/session-state.js").then((module) => module.default),
  list: () => import("./commands/session-list.js").then((module) => module.default),
  stop: () => import("./commands/session-stop.js").then((module) => module.default),
  resume: () => import("./commands/session-resume.js").then((module) => module.default),
  delete: () => import("./commands/session-delete.js").then((module) => module.default),
});
const artifact = group("artifact", "Move bytes into and out of the artifact store", {
  put: () => import("./commands/artifact-put.js").then((module) => module.default),
  get: () => import("./commands/artifact-get.js").then((module) => module.default),
});
const root = group("holdfast", "Durable sandbox sessions, owned by Temporal workflows", {
  dev: () => import("./commands/dev.js").then((module) => module.default),
  worker: () => import("./commands/worker.js").then((module) => module.default),
  session,
  artifact,
  doctor: () => import("./commands/doctor.js").then((module) => module.default),
  demo: () => import("./commands/demo.js").then((module) => module.default),
});

/** Runs one command line; resolves to its exit code. */
export async function runCli(argv: readonly string[]): Promise<number> {
  const flags = argv.slice(0, argv.includes("--") ? argv.indexOf("--") : undefined);
  const json = flags.includes("--json");
  try {
    if (flags.length === 1 && (flags[0] === "--version" || flags[0] === "-v")) {
      process.stdout.write(`${packageVersion()}\n`);
      return exitCodes.ok;
    }
    const { found, path, isGroup } = await resolveCommand(flags);
    if (flags.includes("--help") || flags.includes("-h")) {
      process.stdout.write(await usage(found, process.stdout.isTTY));
      return exitCodes.ok;
    }
    // A group alone asks for its commands; what follows a group and is none of them is refused below.
    if (isGroup && flags.every((flag) => flag.startsWith("-") || path.includes(flag))) {
      process.stderr.write(await usage(found, process.stderr.isTTY));
      return exitCodes.invalid;
    }
    await runCommand(root, { rawArgs: [...argv] });
    return Number(process.exitCode ?? exitCodes.ok);
  } catch (error) {
    return reportError(error, { json });
  }
}

async function resolveCommand(
  argv: readonly string[],
): Promise<{ found: CommandDef; path: string[]; isGroup: boolean }> {
  let found = root;
  const path: string[] = [];
  for (const word of argv) {
    const subCommands = (await resolved(found.subCommands)) ?? {};
    if (word.startsWith("-") || !Object.hasOwn(subCommands, word)) break;
    found = (await resolved(subCommands[word])) as CommandDef;
    path.push(word);
  }
  return { found, path, isGroup: found.subCommands !== undefined };
}

async function resolved<T>(value: T | Promise<T> | (() => T) | (() => Promise<T>)): Promise<T> {
  return typeof value === "function" ? (value as () => T | Promise<T>)() : value;
}

/** Plain where nobody looks: the usage is also read by programs and pagers. */
async function usage(found: CommandDef, isTerminal: boolean): Promise<string> {
  const text = `${await renderUsage(found, found === root ? undefined : root)}\n\n${exitCodeTable}`;
  return isTerminal ? text : stripVTControlCharacters(text);
}

function packageVersion(): string {
  const manifest = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  return (JSON.parse(manifest) as { version: string }).version;
}
