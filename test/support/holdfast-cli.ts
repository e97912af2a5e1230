import { fileURLToPath } from "node:url";
import { execa, type ResultPromise } from "execa";

const main = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));

export type CliEnvironment = Readonly<Record<string, string>>;

export interface CliResult {
  readonly exitCode: number | undefined;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the built command line to its end, with this environment and nothing of the developer's but PATH. */
export async function runHoldfast(
  args: readonly string[],
  env: CliEnvironment = {},
  { input = "" }: { input?: string | Uint8Array } = {},
): Promise<CliResult> {
  const { exitCode, stdout, stderr } = await execa(process.execPath, [main, ...args], {
    ...surroundings(env),
    input,
    reject: false,
    stripFinalNewline: false,
    timeout: 120_000,
  });
  return { exitCode, stdout, stderr };
}

/** Starts `holdfast dev` or `holdfast worker`; `ready` is what it prints with `--json` when it serves. */
export async function startHoldfast(
  args: readonly string[],
  env: CliEnvironment,
): Promise<{ process: ResultPromise<{ reject: false; stdin: "ignore" }>; ready: Record<string, unknown> }> {
  const child = execa(process.execPath, [main, ...args, "--json"], {
    ...surroundings(env),
    stdin: "ignore",
    reject: false,
  });
  const line = await Promise.race([
    new Promise<string>((resolve) => {
      child.stdout.once("data", (chunk: Buffer) => {
        resolve(chunk.toString());
      });
    }),
    child.then((result) => {
      throw new Error(`holdfast ${args.join(" ")} ended: ${result.stdout} ${result.stderr}`);
    }),
  ]);
  return { process: child, ready: JSON.parse(line) as Record<string, unknown> };
}

function surroundings(env: CliEnvironment) {
  return { extendEnv: false, env: { PATH: process.env.PATH ?? "", ...env } } as const;
}
