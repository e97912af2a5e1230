import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client, Connection } from "@temporalio/client";
import { execa } from "execa";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startDevServer } from "../../src/dev-server/index.js";
import { until } from "../support/until.js";

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "holdfast-dev-server-"));
});
afterAll(() => rm(directory, { recursive: true, force: true }));

async function startWorkflow(address: string, workflowId: string): Promise<void> {
  const connection = await Connection.connect({ address });
  await new Client({ connection }).workflow.start("nobody", { taskQueue: "none", workflowId });
  await connection.close();
}

async function exists(address: string, workflowId: string): Promise<boolean> {
  const connection = await Connection.connect({ address });
  try {
    return await new Client({ connection }).workflow
      .getHandle(workflowId)
      .describe()
      .then(
        () => true,
        () => false,
      );
  } finally {
    await connection.close();
  }
}

/** Members of a process group, as the kernel sees them. */
async function groupMembers(pid: number): Promise<string[]> {
  const { stdout } = await execa("ps", ["-eo", "pgid=,pid="]);
  return stdout.split("\n").filter((line) => line.trim().split(/\s+/)[0] === String(pid));
}

describe("dev server", () => {
  it("keeps its state in a file over a restart, serves its UI, and leaves no process", async () => {
    const dbFilename = join(directory, "kept/temporal.sqlite");
    const logFile = join(directory, "temporal.log");
    const first = await startDevServer({ dbFilename, logFile, ui: true, namespaces: ["second"] });
    try {
      await startWorkflow(first.address, "kept");
      const page = await fetch(first.uiUrl ?? "");
      expect(await page.text()).toContain("<html");
      expect(await groupMembers(first.pid)).not.toHaveLength(0);
    } finally {
      await first.stop();
    }
    expect(await groupMembers(first.pid)).toEqual([]);
    await expect(readFile(logFile, "utf8")).resolves.toBeDefined();
    const second = await startDevServer({ dbFilename });
    try {
      expect(await exists(second.address, "kept")).toBe(true);
      expect(second.uiUrl).toBeUndefined();
    } finally {
      await second.stop();
    }
  });

  it("ends when the process that started it is killed", async () => {
    const script = [
      `import { startDevServer } from ${JSON.stringify(new URL("../../dist/dev-server/index.js", import.meta.url).href)};`,
      "const server = await startDevServer();",
      "process.stdout.write(String(server.pid));",
      "setInterval(() => {}, 1000);",
    ].join("\n");
    const parent = execa(process.execPath, ["--input-type=module", "-e", script], {
      reject: false,
      buffer: false,
    });
    const pid = await new Promise<number>((resolve) => {
      parent.stdout.once("data", (chunk: Buffer) => {
        resolve(Number(chunk.toString()));
      });
    });
    expect(await groupMembers(pid)).not.toHaveLength(0);
    parent.kill("SIGKILL");
    await parent;
    await until(async () => (await groupMembers(pid)).length === 0, 20_000);
  });

  it("refuses a chosen port that is taken, in words, without touching who listens there", async () => {
    const other = createServer();
    const port = await new Promise<number>((resolve) => {
      other.listen(0, "127.0.0.1", () => {
        resolve((other.address() as { port: number }).port);
      });
    });
    try {
      await expect(startDevServer({ port })).rejects.toMatchObject({
        code: "conflict",
        hint: expect.stringContaining(`TEMPORAL_ADDRESS=127.0.0.1:${port}`) as string,
      });
      expect(other.listening).toBe(true);
    } finally {
      other.close();
    }
  });

  it("says the server's own words when it does not start", async () => {
    // A directory in the database's place.
    await expect(startDevServer({ dbFilename: directory })).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringContaining("unable to open database file") as string,
    });
  });
});
