import { execa } from "execa";

export interface TemporalCli {
  readonly path: string;
  /** As `temporal --version` says, e.g. "1.9.1". */
  readonly version: string;
  readonly serverVersion: string;
}

/** Updates answer while a task is retried, and `start-dev` knows our flags, from here on. */
const oldest = [1, 3] as const;

/** Runs it once: what is there may be for another machine, half a file, or an older program of that name. */
export async function checkCli(path: string, env: { PATH?: string | undefined }): Promise<TemporalCli> {
  const result = await execa(path, ["--version"], {
    // The first start of a 150 MB binary from a cold, slow disk takes seconds.
    timeout: 30_000,
    maxBuffer: 64 * 1024,
    stdin: "ignore",
    reject: false,
    extendEnv: false,
    env: { PATH: env.PATH ?? "" },
  });
  if (result.failed) {
    throw new Error(result.code === "ENOENT" ? "not there" : result.shortMessage, { cause: result });
  }
  const match = /temporal version (\d+)\.(\d+)(\S*) \(Server (\S+?)[,)]/.exec(result.stdout);
  if (match === null)
    throw new Error(`is not the Temporal CLI: ${JSON.stringify(result.stdout.slice(0, 80))}`);
  const [, major, minor, rest, serverVersion] = match as unknown as [string, string, string, string, string];
  const version = `${major}.${minor}${rest}`;
  if (Number(major) < oldest[0] || (Number(major) === oldest[0] && Number(minor) < oldest[1])) {
    throw new Error(`version ${version} is too old, ${oldest.join(".")} is needed`);
  }
  return { path, version, serverVersion };
}
