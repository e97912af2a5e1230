import { chmod, copyFile, mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { cachedCliPath } from "../../src/dev-server/cached-cli.js";
import { downloadCli } from "../../src/dev-server/download-cli.js";
import { findTemporalCli } from "../../src/dev-server/find-temporal-cli.js";

let directory: string;
let cacheDir: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "holdfast-find-"));
  cacheDir = join(directory, "cache");
  await mkdir(join(directory, "bin"));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

/** A stand-in that answers `--version` as the real one does. */
async function fakeCli(
  path: string,
  says = "temporal version 1.9.1 (Server 1.32.0, UI 2.54.1)",
): Promise<string> {
  await mkdir(join(path, ".."), { recursive: true });
  await writeFile(path, `#!/bin/sh\necho "${says}"\n`);
  await chmod(path, 0o755);
  return path;
}

const config = (temporalCli?: string) => ({
  temporalCli,
  cacheDir,
  environment: { PATH: `${join(directory, "bin")}:/usr/bin:/bin` },
});

describe("finding the Temporal CLI", () => {
  it("prefers the configured one, then PATH, then the cached copy", async () => {
    const configured = await fakeCli(
      join(directory, "own/temporal"),
      "temporal version 1.7.0 (Server 1.31.0)",
    );
    await fakeCli(join(directory, "bin/temporal"), "temporal version 1.8.0 (Server 1.31.1)");
    await fakeCli(cachedCliPath(cacheDir));
    expect(await findTemporalCli({ config: config(configured), fetch: false })).toMatchObject({
      version: "1.7.0",
    });
    expect(await findTemporalCli({ config: config(), fetch: false })).toMatchObject({
      version: "1.8.0",
      serverVersion: "1.31.1",
    });
    await rm(join(directory, "bin/temporal"));
    expect(await findTemporalCli({ config: config(), fetch: false })).toMatchObject({
      path: cachedCliPath(cacheDir),
      version: "1.9.1",
    });
  });

  it.each([
    ["too old", "temporal version 0.13.2 (Server 1.20.0)", "too old"],
    ["another program of that name", "Temporal Anomaly Detector v9", "is not the Temporal CLI"],
  ])("goes on when the one on PATH is %s, and says so", async (_name, says, reason) => {
    await fakeCli(join(directory, "bin/temporal"), says);
    await fakeCli(cachedCliPath(cacheDir));
    const said: string[] = [];
    const found = await findTemporalCli({
      config: config(),
      onProgress: (line) => said.push(line),
      fetch: false,
    });
    expect(found.path).toBe(cachedCliPath(cacheDir));
    expect(said.join("\n")).toContain(reason);
  });

  it("goes on when the cached copy is half a file", async () => {
    await mkdir(cacheDir);
    await writeFile(cachedCliPath(cacheDir), "\x7fELF", { mode: 0o755 });
    const error: unknown = await findTemporalCli({ config: config(), fetch: false }).catch(
      (thrown: unknown) => thrown,
    );
    expect(error).toMatchObject({
      code: "unavailable",
      hint: expect.stringContaining("TEMPORAL_ADDRESS") as string,
    });
    expect(String(error)).toContain("on PATH: not there");
    expect(String(error)).toContain("cached copy");
  });

  it("names a configured path that is wrong, and looks no further", async () => {
    await fakeCli(cachedCliPath(cacheDir));
    await expect(
      findTemporalCli({ config: config(join(directory, "none")), fetch: false }),
    ).rejects.toMatchObject({
      code: "invalid-request",
      field: "HOLDFAST_TEMPORAL_CLI",
    });
  });
});

describe("the download", () => {
  let server: Server;
  let origin: string;
  let archive: Buffer;
  let asked: string[];
  beforeEach(async () => {
    asked = [];
    const cli = await fakeCli(join(directory, "archive/temporal"));
    await copyFile(cli, join(directory, "archive/LICENSE"));
    await execa("tar", ["-czf", "../archive.tar.gz", "LICENSE", "temporal"], {
      cwd: join(directory, "archive"),
    });
    const { readFile } = await import("node:fs/promises");
    archive = await readFile(join(directory, "archive.tar.gz"));
    server = createServer((request, response) => {
      asked.push(request.url ?? "");
      if (request.url?.startsWith("/cli/") === true) {
        response.end(JSON.stringify({ archiveUrl: `${origin}/archive`, fileToExtract: "temporal" }));
      } else {
        response.end(archive);
      }
    });
    origin = await new Promise<string>((resolve) => {
      server.listen(0, "127.0.0.1", () => {
        resolve(`http://127.0.0.1:${(server.address() as { port: number }).port}`);
      });
    });
  });
  afterEach(() => new Promise((resolve) => server.close(resolve)));

  const download = () =>
    downloadCli({
      target: cachedCliPath(cacheDir),
      environment: {},
      onProgress: () => undefined,
      downloadOrigin: origin,
    });

  it("asks as the SDKs do and leaves one whole file", async () => {
    expect(await download()).toBe(cachedCliPath(cacheDir));
    expect(asked[0]).toMatch(/^\/cli\/v1\.9\.1\?platform=(linux|darwin)&arch=(amd64|arm64)&format=tar\.gz$/);
    expect(await readdir(cacheDir)).toEqual(["temporal-cli-1.9.1"]);
    expect(await findTemporalCli({ config: config(), fetch: false })).toMatchObject({ version: "1.9.1" });
  });

  it("leaves nothing behind when the archive is broken", async () => {
    archive = archive.subarray(0, 60);
    await expect(download()).rejects.toThrow();
    expect(await readdir(cacheDir)).toEqual([]);
  });

  it("says who could not be reached", async () => {
    await new Promise((resolve) => server.close(resolve));
    await expect(download()).rejects.toThrow("127.0.0.1");
  });
});
