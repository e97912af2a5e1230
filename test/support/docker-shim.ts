import { execFile } from "node:child_process";
import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

export interface DockerShim {
  /** For `createDockerProvider({ command })`. */
  readonly command: string;
  readonly directory: string;
  /** The arguments of each run, one line each. */
  calls(): Promise<string[]>;
  remove(): Promise<void>;
}

/**
 * A stand-in for the docker CLI: bash that gets the arguments and, unless it exits, goes on to the real one.
 * `$dir` is a directory of its own, `$real` the real CLI.
 */
export async function createDockerShim(body: string): Promise<DockerShim> {
  const directory = await mkdtemp(join(tmpdir(), "holdfast-shim-"));
  const { stdout } = await promisify(execFile)("sh", ["-c", "command -v docker"]);
  const command = join(directory, "docker");
  const script = [
    "#!/bin/bash",
    `dir=${directory}`,
    `real=${stdout.trim()}`,
    `printf '%s\\n' "\${*//$'\\n'/ }" >>"$dir/calls"`,
    body,
    'exec "$real" "$@"',
    "",
  ].join("\n");
  await writeFile(command, script);
  await chmod(command, 0o755);
  return {
    command,
    directory,
    calls: async () =>
      (await readFile(join(directory, "calls"), "utf8")).split("\n").filter((line) => line !== ""),
    remove: () => rm(directory, { recursive: true, force: true }),
  };
}
