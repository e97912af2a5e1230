import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { runHoldfast, type CliEnvironment } from "../support/holdfast-cli.js";

let directory: string;
let env: CliEnvironment;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "holdfast-doctor-"));
  env = { HOME: directory, HOLDFAST_DOCKER: "/nowhere/docker" };
});
afterAll(() => rm(directory, { recursive: true, force: true }));

interface Report {
  healthy: boolean;
  checks: { name: string; status: string; detail: string; hint?: string }[];
}

async function doctor(more: CliEnvironment): Promise<{ exitCode: number | undefined; report: Report }> {
  const { exitCode, stdout } = await runHoldfast(["doctor", "--json"], { ...env, ...more });
  return { exitCode, report: JSON.parse(stdout) as Report };
}

const byName = (report: Report, name: string) => report.checks.find((check) => check.name === name);

describe("holdfast doctor", () => {
  it("finds a server that answers, and says what optional things need", async () => {
    const { address } = inject("temporal");
    const { exitCode, report } = await doctor({
      TEMPORAL_ADDRESS: address,
      HOLDFAST_TASK_QUEUE: "doctor-none",
    });
    expect(exitCode).toBe(0);
    expect(report.healthy).toBe(true);
    expect(byName(report, "Temporal")).toMatchObject({
      status: "ok",
      detail: expect.stringContaining(address) as string,
    });
    expect(byName(report, "workers")).toMatchObject({
      status: "warning",
      hint: expect.stringContaining("worker") as string,
    });
    expect(byName(report, "Docker")).toMatchObject({
      status: "warning",
      detail: "there is no /nowhere/docker",
    });
    expect(byName(report, "state directory")).toMatchObject({ status: "ok" });
  });

  it("a named server that does not answer is a problem; none named is not, and it says what dev would start", async () => {
    const named = await doctor({ TEMPORAL_ADDRESS: "127.0.0.1:1" });
    expect(named.exitCode).toBe(1);
    expect(byName(named.report, "Temporal")).toMatchObject({ status: "problem" });
    const wrong = await doctor({ TEMPORAL_ADDRESS: inject("temporal").address, TEMPORAL_NAMESPACE: "none" });
    expect(wrong.exitCode).toBe(1);
    expect(byName(wrong.report, "Temporal")?.detail).toContain("namespace none not found");
  });

  it("a state directory that can't be written is a problem with a way out", async () => {
    await writeFile(join(directory, "file"), "");
    const { exitCode, stdout } = await runHoldfast(["doctor"], {
      ...env,
      TEMPORAL_ADDRESS: inject("temporal").address,
      HOLDFAST_STATE_DIR: join(directory, "file/state"),
    });
    expect(exitCode).toBe(1);
    expect(stdout).toMatch(/^PROBLEM +state directory/m);
    expect(stdout).toContain("HOLDFAST_STATE_DIR");
  });
});
