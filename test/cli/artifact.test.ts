import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ArtifactRef } from "../../src/contract/refs.js";
import { runHoldfast } from "../support/holdfast-cli.js";

let directory: string;
let env: Record<string, string>;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "holdfast-artifact-"));
  env = { HOME: directory, HOLDFAST_ARTIFACTS: join(directory, "store") };
});
afterAll(() => rm(directory, { recursive: true, force: true }));

describe("holdfast artifact", () => {
  it("brings bytes back from a file and from stdin, by reference, key and hash", async () => {
    const bytes = Uint8Array.from({ length: 300_000 }, (_, i) => (i * 31) % 256);
    const file = join(directory, "data.bin");
    await writeFile(file, bytes);
    const put = await runHoldfast(["artifact", "put", file, "--mime-type", "image/png"], env);
    const ref = JSON.parse(put.stdout) as ArtifactRef;
    expect(ref).toMatchObject({ sizeBytes: 300_000, mimeType: "image/png" });
    const same = await runHoldfast(["artifact", "put", "-"], env, { input: bytes });
    expect(JSON.parse(same.stdout)).toMatchObject({ key: ref.key, sha256: ref.sha256 });
    for (const name of [put.stdout.trim(), ref.key, ref.sha256]) {
      const output = join(directory, "out.bin");
      const got = await runHoldfast(["artifact", "get", name, "-o", output], env);
      expect(got).toMatchObject({ exitCode: 0, stderr: "" });
      expect(Buffer.compare(await readFile(output), bytes)).toBe(0);
      await rm(output);
    }
  });

  it("prints to stdout", async () => {
    const put = await runHoldfast(["artifact", "put", "-"], env, { input: "caf\u00e9\n" });
    expect(await runHoldfast(["artifact", "get", put.stdout.trim()], env)).toMatchObject({
      stdout: "caf\u00e9\n",
    });
  });

  it("leaves no file where the bytes are not what the reference says", async () => {
    const put = await runHoldfast(["artifact", "put", "-"], env, { input: "original" });
    const ref = JSON.parse(put.stdout) as ArtifactRef;
    await writeFile(join(directory, "store", ref.key), "tampered");
    const output = join(directory, "tampered.bin");
    const got = await runHoldfast(["artifact", "get", put.stdout.trim(), "--output", output], env);
    expect(got.exitCode).toBe(7);
    expect((await readdir(directory)).filter((name) => name.startsWith("tampered"))).toEqual([]);
  });

  it.each([
    [2, ["put", "/nowhere"], "file"],
    [2, ["get", "not-a-key"], "artifact"],
    [2, ["get", '{"key":"x"}'], "artifact.sha256"],
    [3, ["get", `sha256/00/${"0".repeat(64)}`], "HOLDFAST_ARTIFACTS"],
  ])("exits with %i for %j", async (exitCode, args, words) => {
    const result = await runHoldfast(["artifact", ...args], env);
    expect(result).toMatchObject({ exitCode, stdout: "" });
    expect(result.stderr).toContain(words);
  });
});
