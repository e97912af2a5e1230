import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createSessionHost, type SessionHost } from "../support/session-host.js";
import { until } from "../support/until.js";

let host: SessionHost;
beforeAll(async () => {
  host = await createSessionHost("life");
  await host.startWorker();
});
afterAll(() => host.stop());

const start = (label: string, spec = {}) =>
  host.client.sessions.start({ provider: "just-bash", ...spec }, { sessionId: host.newId(label) });

describe("a session on just-bash", () => {
  it("runs, stops with its files, resumes by a call, and ends with a true summary", async () => {
    const session = await start("whole");
    const first = await session.bash("echo kept > file; echo out; echo err >&2; exit 3");
    expect(first).toMatchObject({
      status: "done",
      outcome: { kind: "exited", exitCode: 3 },
      result: { stdout: { text: "out\n" }, stderr: { text: "err\n" } },
      generation: 1,
    });
    await session.stop({ wait: true });
    expect(await session.state()).toMatchObject({
      status: "stopped",
      calls: { queued: 0, running: 0, done: 1 },
    });
    const second = await session.bash("cat file");
    expect(second).toMatchObject({ result: { stdout: { text: "kept\n" } }, generation: 1 });
    expect(await session.state()).toMatchObject({ status: "running", toolCounts: { bash: 2 } });
    expect(await session.delete({ wait: true })).toEqual({
      sessionId: session.sessionId,
      status: "deleted",
      reason: "requested",
      cleanup: "done",
      generations: 1,
      calls: 2,
    });
  });

  it("reads, writes and lists files", async () => {
    const session = await start("files");
    expect(await session.write({ path: "dir/a.txt", content: "one\ntwo\n" })).toMatchObject({
      outcome: { kind: "ok" },
      result: { sizeBytes: 8, created: true },
    });
    expect(await session.read("dir/a.txt")).toMatchObject({ result: { content: { text: "one\ntwo\n" } } });
    expect(await session.ls("dir")).toMatchObject({ result: { entries: [{ name: "a.txt", type: "file" }] } });
    expect(await session.read("nothing")).toMatchObject({
      status: "done",
      outcome: { kind: "error", error: { code: "not-found" } },
    });
    await session.delete({ wait: true });
  });

  it("the same id again at once after delete is another session, with nothing of the first", async () => {
    const sessionId = host.newId("again");
    const spec = { provider: "just-bash" } as const;
    const first = await host.client.sessions.start(spec, { sessionId });
    await first.bash("echo gen1 > gen1");
    const firstRun = (await first.state()).runId;
    await first.delete();
    await first.result();
    const second = await host.client.sessions.start(spec, { sessionId });
    const listing = await second.bash("ls");
    expect(listing.result).toMatchObject({ stdout: { text: "" } });
    expect((await second.state()).runId).not.toBe(firstRun);
    await second.delete({ wait: true });
  });

  it("secrets reach the command, and neither history nor state", async () => {
    const session = await start("secrets", {
      env: { PUBLIC: "seen" },
      secrets: { TOKEN: { from: "env", key: "PATH" } },
    });
    const answer = await session.bash('echo "$PUBLIC ${#TOKEN}"');
    const path = host.config.environment.PATH ?? "";
    expect(answer.result).toMatchObject({ stdout: { text: `seen ${path.length}\n` } });
    const history = await host.temporal.workflow.getHandle(session.sessionId).fetchHistory();
    expect(JSON.stringify(history)).not.toContain(Buffer.from(path).toString("base64").slice(4, 40));
    expect(JSON.stringify(await session.state())).not.toContain(path);
    await session.delete({ wait: true });
  });
});

describe("timers, in short real runs", () => {
  it("stops when idle, and deletes what stays stopped", async () => {
    const session = await start("idle", { timeouts: { idleMs: 1_000, stoppedTtlMs: 2_000 } });
    await session.bash("true");
    await until(async () => (await session.state()).status === "stopped");
    expect(await session.result()).toMatchObject({
      status: "deleted",
      reason: "stopped-ttl",
      cleanup: "done",
    });
  });

  it("a running command is activity", async () => {
    const session = await start("busy", { timeouts: { idleMs: 1_000 } });
    const answer = await session.bash("sleep 4; echo awake");
    expect(answer).toMatchObject({
      outcome: { kind: "exited", exitCode: 0 },
      result: { stdout: { text: "awake\n" } },
    });
    await session.delete({ wait: true });
  });

  it("ends at its lifetime, with a call running", async () => {
    const session = await start("lifetime", { timeouts: { maxLifetimeMs: 4_000 } });
    const call = session.bash("sleep 60");
    expect(await session.result()).toMatchObject({ reason: "max-lifetime", cleanup: "done" });
    expect((await call).outcome).toEqual({ kind: "cancelled", by: "delete" });
  });

  it("extend moves the deadlines", async () => {
    const session = await start("extend", { timeouts: { idleMs: 3_000 } });
    await session.extend({ idleMs: 3_600_000 });
    await session.bash("true");
    const { expires } = await session.state();
    expect(Date.parse(expires?.idleAt ?? "") - Date.now()).toBeGreaterThan(3_000_000);
    await session.delete({ wait: true });
  });
});
