import { execa } from "execa";

export interface ToolRun {
  readonly ok: boolean;
  readonly stdout: string;
  /** Why not, in one line. */
  readonly reason: string;
}

/** Runs an engine's command line for a look. A daemon that hangs must not hang us. */
export async function runTool(
  file: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
): Promise<ToolRun> {
  const result = await execa(file, args, {
    timeout: 10_000,
    maxBuffer: 256 * 1024,
    stdin: "ignore",
    reject: false,
    extendEnv: false,
    env: environment,
  });
  const reason =
    result.code === "ENOENT" ? `there is no ${file}` : lastLine(result.stderr) || (result.shortMessage ?? "");
  return { ok: !result.failed, stdout: result.stdout, reason };
}

const lastLine = (text: string): string => text.trim().split("\n").at(-1) ?? "";
