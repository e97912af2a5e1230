import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createHoldfastClient } from "../../src/client/index.js";
import { startDevServer } from "../../src/dev-server/index.js";
import { freePort } from "../../src/dev-server/free-port.js";
import { startHoldfast } from "../support/holdfast-cli.js";
import { createSessionHost, type SessionHost } from "../support/session-host.js";
import { until } from "../support/until.js";

let host: SessionHost;
beforeAll(async () => {
  host = await createSessionHost("client-outage");
});
afterAll(() => host.stop());

describe("without a worker", () => {
  it("a call waits for one and is answered once", async () => {
    const session = await host.client.sessions.start({ provider: "just-bash" });
    const call = session.bash("echo x >> once; cat once", { callId: "early" });
    await sleep(3_000);
    const worker = await host.startWorker();
    expect((await call).result?.stdout.text).toBe("x\n");
    await session.delete({ wait: true });
    await worker.stop();
  });

  it("whoever waits a bounded time is told what to do, and the session still gets what was sent", async () => {
    const { address } = host.config.temporal.connection;
    const client = createHoldfastClient({ address, taskQueue: host.taskQueue, patienceMs: 1_000 });
    const session = await client.sessions.start({ provider: "just-bash" });
    await expect(session.bash("true", { waitMs: 500 })).rejects.toMatchObject({
      code: "unavailable",
      hint: expect.stringContaining("worker") as string,
    });
    await session.delete();
    const worker = await host.startWorker();
    expect(await session.result()).toMatchObject({ status: "deleted" });
    await worker.stop();
    await client.close();
  });
});

describe("the server restarts in the middle of a call", () => {
  it("calls are sent again under their ids, run once, and are answered", async () => {
    const directory = await mkdtemp(join(tmpdir(), "holdfast-outage-"));
    const dbFilename = join(directory, "temporal.sqlite");
    const port = await freePort();
    let server = await startDevServer({ dbFilename, port });
    const worker = await startHoldfast(["worker", "--log-level", "error"], {
      HOME: directory,
      TEMPORAL_ADDRESS: server.address,
      HOLDFAST_STATE_DIR: directory,
    });
    const client = createHoldfastClient({ address: server.address });
    try {
      const session = await client.sessions.start({ provider: "just-bash" });
      const call = session.bash("echo x >> once; sleep 4; cat once", { callId: "through" });
      await until(async () => (await session.getCall("through"))?.status === "running");
      await server.stop();
      server = await startDevServer({ dbFilename, port });
      expect(await call).toMatchObject({
        outcome: { kind: "exited", exitCode: 0 },
        result: { stdout: { text: "x\n" } },
      });

      // Away for longer than one request is tried, and more calls than updates are held: some go by signal.
      await server.stop();
      const calls = Array.from({ length: 9 }, (_, i) =>
        session.bash(`echo ${i} >> all; echo ${i}`, { callId: `away-${i}` }),
      );
      const answers = Promise.all(calls);
      await Promise.race([answers, sleep(17_000)]);
      server = await startDevServer({ dbFilename, port });
      expect((await answers).map((answer) => answer.result?.stdout.text)).toEqual(
        calls.map((_, i) => `${i}\n`),
      );
      expect((await session.bash("wc -l < all")).result?.stdout.text.trim()).toBe("9");
      await session.delete({ wait: true });
    } finally {
      await client.close();
      worker.process.kill("SIGTERM");
      await worker.process;
      await server.stop();
      await rm(directory, { recursive: true, force: true });
    }
  }, 120_000);
});
