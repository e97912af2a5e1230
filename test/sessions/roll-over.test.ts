import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Answer } from "../../src/contract/call.js";
import type { SessionView } from "../../src/contract/state.js";
import { createSessionHost, type SessionHost } from "../support/session-host.js";
import { until } from "../support/until.js";

let host: SessionHost;
let worker: { stop(): Promise<void> };
const rollOver = { historyEvents: 5 };
beforeAll(async () => {
  host = await createSessionHost("roll-over");
  worker = await host.startWorker({ rollOver });
});
afterAll(() => host.stop());

const start = (label: string, spec = {}) =>
  host.client.sessions.start({ provider: "just-bash", ...spec }, { sessionId: host.newId(label) });

async function runsOf(sessionId: string): Promise<number> {
  let runs = 0;
  const query = `WorkflowId = "${sessionId}"`;
  await until(async () => {
    runs = 0;
    for await (const execution of host.temporal.workflow.list({ query })) runs += execution.runId ? 1 : 0;
    return runs > 0;
  });
  return runs;
}

describe("B81 [temporal-can] roll-over with a threshold of 5 events", () => {
  it("300 messages from 10 clients are each handled once, across a change of workers", async () => {
    const session = await start("burst");
    const senders = Array.from({ length: 10 }, (_, sender) =>
      (async () => {
        for (let index = 0; index < 15; index += 1) {
          const callId = `${sender}-${index}`;
          const command = `echo ${callId} >> log-${sender}`;
          const handle = host.temporal.workflow.getHandle(session.sessionId);
          await handle.signal("callTool", { callId: `s${callId}`, tool: "bash", input: { command: "true" } });
          const answer = await session.call({ callId, tool: "bash", input: { command } });
          expect(answer.outcome).toEqual({ kind: "exited", exitCode: 0 });
        }
      })(),
    );
    const restarts = (async () => {
      for (let index = 0; index < 2; index += 1) {
        await until(async () => (await session.state()).calls.done > 40 * (index + 1));
        const next = await host.startWorker({ rollOver });
        await worker.stop();
        worker = next;
      }
    })();
    await Promise.all([...senders, restarts]);
    await until(async () => (await session.state()).calls.done === 300);
    const logs = await session.bash("cat log-*");
    const lines = (logs.result?.stdout.text ?? "").trim().split("\n");
    expect(lines).toHaveLength(150);
    expect(new Set(lines).size).toBe(150);
    for (let sender = 0; sender < 10; sender += 1) {
      const own = lines.filter((line) => line.startsWith(`${sender}-`));
      expect(own).toEqual(Array.from({ length: 15 }, (_, index) => `${sender}-${index}`));
    }
    const runs = await runsOf(session.sessionId);
    expect(runs).toBeGreaterThan(10);
    expect(runs).toBeLessThan(320);
    await session.delete({ wait: true });
  }, 120_000);

  it("a long call goes on over roll-overs, is not run twice and keeps its answer", async () => {
    const session = await start("long");
    const long = session.bash("echo s >> log; sleep 6; echo e >> log; cat log");
    for (let index = 0; index < 12; index += 1) await session.bash(`echo ${index}`);
    expect((await long).result?.stdout.text).toBe("s\ne\n");
    expect(await runsOf(session.sessionId)).toBeGreaterThan(3);
    await session.delete({ wait: true });
  });

  it("B83 [temporal-dedup] an id is known after the roll-over, also with another command", async () => {
    const session = await start("dedup");
    const request = { callId: "a", tool: "bash", input: { command: "echo x >> f; wc -l < f" } } as const;
    const first = await session.call(request);
    for (let index = 0; index < 4; index += 1) await session.bash("true");
    expect(await runsOf(session.sessionId)).toBeGreaterThan(1);
    expect(await session.call(request)).toEqual(first);
    await expect(session.call({ ...request, input: { command: "other" } })).rejects.toMatchObject({
      code: "conflict",
    });
    await session.delete({ wait: true });
    expect(await session.call(request)).toEqual(first);
  });
});

describe("a large spec", () => {
  it("is carried once over a roll-over; a larger one is refused before anything is made", async () => {
    const session = await start("spec", {
      env: { LARGE: "x".repeat(100_000) },
      labels: { team: "é".repeat(4_000) },
    });
    for (let index = 0; index < 4; index += 1) {
      expect((await session.bash("echo ${#LARGE}")).result?.stdout.text).toBe("100000\n");
    }
    expect(await runsOf(session.sessionId)).toBeGreaterThan(1);
    await session.delete({ wait: true });
    const handle = await host.temporal.workflow.start("sandboxSession", {
      workflowId: host.newId("huge"),
      taskQueue: host.taskQueue,
      args: [{ provider: "just-bash", template: { revision: "r".repeat(300_000) } }],
    });
    await expect(handle.result()).rejects.toMatchObject({ cause: { type: "too-large" } });
  });
});

describe("a full queue", () => {
  let other: SessionHost;
  beforeAll(async () => {
    other = await createSessionHost("queue");
    await other.startWorker({ rollOver: { historyEvents: 60 } });
  });
  afterAll(() => other.stop());

  it("500 queued calls survive it, and each runs once", async () => {
    const session = await other.client.sessions.start(
      { provider: "just-bash", maxConcurrentCalls: 4 },
      { sessionId: other.newId("full") },
    );
    const handle = other.temporal.workflow.getHandle(session.sessionId);
    await handle.signal("callTool", { callId: "block", tool: "bash", input: { command: "sleep 2" } });
    await until(async () => (await session.getCall("block"))?.status === "running");
    for (let index = 0; index < 500; index += 1) {
      await handle.signal("callTool", {
        callId: `c${index}`,
        tool: "bash",
        input: { command: `echo ${index} >> log` },
      });
    }
    await until(async () => (await handle.query<SessionView>("state")).calls.done === 501, 90_000);
    const log = await session.bash("cat log");
    const lines = (log.result?.stdout.text ?? "").trim().split("\n");
    expect(lines.sort()).toEqual(Array.from({ length: 500 }, (_, index) => `${index}`).sort());
    await session.delete({ wait: true });
  }, 150_000);
});

describe("B80 [temporal-payload]", () => {
  it("eight answers at once of the largest kind, NULs among them, stay within the limits", async () => {
    const session = await start("large");
    // just-bash has no /dev/zero: the NULs come from printf.
    const nuls = "for i in $(seq 1 500); do printf '\\0%.0s' $(seq 1 100); done";
    const commands = Array.from({ length: 8 }, (_, index) => (index % 2 === 0 ? nuls : "seq 1 60000"));
    const answers = await Promise.all(commands.map((command) => session.bash(command)));
    for (const [index, answer] of answers.entries()) {
      expect(answer.outcome).toEqual({ kind: "exited", exitCode: 0 });
      expect(Buffer.byteLength(JSON.stringify(answer))).toBeLessThan(140_000);
      const stdout = answer.result?.stdout;
      if (index % 2 === 0) {
        // 50,000 NULs are 300 KB as JSON text, and a fifth of that as base64.
        expect(stdout).toMatchObject({ encoding: "base64", totalBytes: 50_000 });
        expect(Buffer.from(stdout?.text ?? "", "base64")).toEqual(Buffer.alloc(50_000));
      } else {
        expect(stdout?.omittedBytes).toBeGreaterThan(0);
        expect(stdout?.full?.sizeBytes).toBe(stdout?.totalBytes);
      }
    }
    expect(Buffer.byteLength(JSON.stringify(await session.state()))).toBeLessThan(256 * 1024);
    const late = (await session.getCall(answers[0]?.callId ?? "")) as Answer;
    expect(late.outcome).toEqual({ kind: "exited", exitCode: 0 });
    expect(late.result).toBeDefined();
    await session.delete({ wait: true });
  });
});
