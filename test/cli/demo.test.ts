import { readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { runHoldfast } from "../support/holdfast-cli.js";

const cache = { XDG_CACHE_HOME: process.env.XDG_CACHE_HOME ?? join(process.env.HOME ?? "", ".cache") };

const demoDirectories = async () =>
  (await readdir(tmpdir())).filter((name) => name.startsWith("holdfast-demo-"));

describe("holdfast demo", () => {
  it("does the main job on just-bash, tells the truth about the killed worker, and leaves nothing", async () => {
    const before = await demoDirectories();
    const { exitCode, stdout, stderr } = await runHoldfast(["demo"], { ...cache, HOME: tmpdir() });
    expect(stderr).not.toContain("holdfast:");
    expect(exitCode).toBe(0);
    expect(stdout).toContain("hash of the tree is equal on both sides");
    expect(stdout).toMatch(/"kind":"lost"/);
    expect(stdout).toMatch(/[1-7] of 8 steps ran, none twice/);
    expect(stdout).toMatch(/execa\/lib\/terminate\/timeout\.js: \d+ bytes, as edited, generation 1/);
    expect(stdout).toContain("nothing left of the session");
    expect(stdout.trimEnd().split("\n").at(-1)).toMatch(/^All of it held\. 3 processes ended/);
    expect((await demoDirectories()).filter((name) => !before.includes(name))).toEqual([]);
  }, 150_000);

  it("says what docker lacks and what to do, before it starts anything", async () => {
    const before = await demoDirectories();
    const { exitCode, stdout, stderr } = await runHoldfast(["demo", "--provider", "docker"], {
      ...cache,
      HOME: tmpdir(),
      HOLDFAST_DOCKER: "/nowhere/docker",
    });
    expect(exitCode).toBe(4);
    expect(stderr).toContain("there is no /nowhere/docker");
    expect(stderr).toContain("HOLDFAST_DOCKER");
    expect(stdout).not.toContain("Temporal");
    expect((await demoDirectories()).filter((name) => !before.includes(name))).toEqual([]);
  });

  it("refuses a provider that there is not, before it starts anything", async () => {
    const before = await demoDirectories();
    const { exitCode, stderr } = await runHoldfast(["demo", "--provider", "podman"], {
      ...cache,
      HOME: tmpdir(),
    });
    expect(exitCode).toBe(2);
    expect(stderr).toContain("spec.provider");
    expect((await demoDirectories()).filter((name) => !before.includes(name))).toEqual([]);
  });
});
