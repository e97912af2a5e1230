import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { FakeProvider } from "../../src/providers/fake/provider.js";
import { createFakeProvider } from "../../src/providers/fake/provider.js";
import { createSessionHost, type SessionHost } from "../support/session-host.js";
import { until } from "../support/until.js";

let host: SessionHost;
let fake: FakeProvider;
beforeAll(async () => {
  host = await createSessionHost("faults");
  await host.startWorker({
    providers: (on) => {
      fake = createFakeProvider({ hostId: on.hostId });
      return Promise.resolve([fake]);
    },
  });
});
afterAll(() => host.stop());

const start = (label: string, env: Record<string, string> = {}, spec = {}) =>
  host.client.sessions.start(
    // Each its own template: failures are counted for one.
    { provider: "fake", template: { env, revision: host.newId(label) }, ...spec },
    { sessionId: host.newId(label) },
  );
const command = (value: object) => JSON.stringify(value);

describe("B27 [life-stuck]", () => {
  it("delete in the middle of a slow start ends at once, and the sandbox is never made", async () => {
    const before = fake.counts.created;
    const session = await start("slow", { FAKE_START_DELAY_MS: "60000" });
    const queued = session.bash("echo never");
    await until(async () => (await session.state()).status === "starting");
    const startedAt = Date.now();
    expect(await session.delete({ wait: true })).toMatchObject({
      status: "deleted",
      cleanup: "done",
      calls: 1,
    });
    expect(Date.now() - startedAt).toBeLessThan(15_000);
    expect((await queued).outcome).toEqual({ kind: "cancelled", by: "delete" });
    expect(fake.counts.created).toBe(before);
  });

  it("a create that lands after the delete is removed too", async () => {
    const before = { ...fake.counts };
    const session = await start("late", { FAKE_START_DELAY_MS: "6000", FAKE_START_LANDS_LATE: "1" });
    await until(async () => (await session.state()).status === "starting");
    expect(await session.delete({ wait: true })).toMatchObject({ cleanup: "done" });
    await until(() => fake.counts.created === before.created + 1);
    await until(() => fake.sandboxes.length === 0);
    expect(fake.counts.removed).toBe(before.removed + 1);
  });

  it("delete before anything is placed makes nothing at all", async () => {
    const session = await start("unplaced", {}, { host: "no-such-host" });
    expect((await session.state()).status).toBe("preparing");
    expect(await session.delete({ wait: true })).toMatchObject({ generations: 0, cleanup: "done" });
  });
});

describe("a start that fails", () => {
  it("for good: ends the session by its code, answers what was queued, leaves nothing", async () => {
    const session = await start("bad", { FAKE_START_FAIL: "template-failed" });
    const answer = await session.bash("echo never");
    expect(answer.outcome).toMatchObject({ kind: "error", error: { code: "template-failed" } });
    await expect(session.result()).rejects.toMatchObject({ code: "template-failed" });
    expect(await session.state()).toMatchObject({ status: "failed", failure: { code: "template-failed" } });
    await expect(session.call({ tool: "bash", input: { command: "late" } })).rejects.toMatchObject({
      code: "closed",
    });
    expect(fake.sandboxes).toEqual([]);
  });

  it("for a moment: is tried again, and the session runs", async () => {
    const session = await start("flaky", { FAKE_START_FAIL: "unavailable", FAKE_START_FAIL_TIMES: "2" });
    expect((await session.bash("echo fine")).outcome).toEqual({ kind: "exited", exitCode: 0 });
    await session.delete({ wait: true });
  });

  it("for ever with `unavailable`: is told after some attempts, with the engine's own words", async () => {
    const session = await start("down", { FAKE_PREPARE_FAIL: "unavailable" });
    await expect(session.result()).rejects.toMatchObject({ code: "unavailable", message: /prepare fails/ });
  }, 90_000);
});

describe("a provider that no worker has", () => {
  it("ends the session as unsupported within seconds, naming what there is", async () => {
    const session = await host.client.sessions.start(
      { provider: "just-bash" },
      { sessionId: host.newId("none") },
    );
    await expect(session.result()).rejects.toMatchObject({ code: "unsupported", message: /fake/ });
  });
});

describe("a sandbox that is lost", () => {
  it("onLost fail: the running call is lost, the session ends with a typed failure", async () => {
    const session = await start("fail");
    await session.bash("echo first");
    const running = session.bash(command({ stdout: "partial", delayMs: 60_000 }));
    await until(async () => (await session.state()).calls.running === 1);
    fake.vanish(await session.state());
    expect((await running).outcome?.kind).toBe("lost");
    expect((await session.bash("next")).outcome).toMatchObject({ kind: "lost" });
    await expect(session.result()).rejects.toMatchObject({ code: "session-lost" });
  });

  it("onLost recreate: the next generation answers, and says so", async () => {
    const session = await start("recreate", {}, { onLost: "recreate" });
    expect((await session.bash("echo first")).generation).toBe(1);
    const { generation, ...identity } = await session.state();
    fake.vanish(identity);
    const answers = [await session.bash("echo second")];
    // The call that met the loss is lost: whether it ran nobody can tell. The next one runs.
    if (answers[0]?.outcome?.kind === "lost") answers.push(await session.bash("echo third"));
    expect(answers.at(-1)).toMatchObject({ outcome: { kind: "exited", exitCode: 0 }, generation: 2 });
    const after = await session.state();
    expect(after.generation?.number).toBe(2);
    expect(after.generation?.key).not.toBe(generation?.key);
    expect(await session.delete({ wait: true })).toMatchObject({ generations: 2, cleanup: "done" });
    expect(fake.sandboxes).toEqual([]);
  });

  it("while stopped: the resume finds out before anything else happens", async () => {
    const session = await start("stopped");
    await session.bash("echo first");
    await session.stop({ wait: true });
    fake.vanish(await session.state());
    expect((await session.bash("echo never")).outcome).toMatchObject({
      kind: "error",
      error: { code: "session-lost" },
    });
    await expect(session.result()).rejects.toMatchObject({ code: "session-lost" });
  });
});

describe("B32 [life-rm-race]", () => {
  it("a removal that fails for a moment is tried again; one that never works is left to the reaper in 30 s", async () => {
    const flaky = await start("flaky-rm", { FAKE_REMOVE_FAIL: "unavailable", FAKE_REMOVE_FAIL_TIMES: "2" });
    await flaky.bash("x");
    expect(await flaky.delete({ wait: true })).toMatchObject({ cleanup: "done" });
    const stuck = await start("stuck-rm", { FAKE_REMOVE_DELAY_MS: "600000" });
    await stuck.bash("x");
    const startedAt = Date.now();
    expect(await stuck.delete({ wait: true })).toMatchObject({ cleanup: "left-to-reaper" });
    expect(Date.now() - startedAt).toBeLessThan(40_000);
  }, 90_000);
});

describe("network", () => {
  it("a recreated sandbox has the policy that was set, and not the spec's", async () => {
    const session = await start("renet", {}, { onLost: "recreate", network: "allow-all" });
    await session.bash("x");
    await session.setNetworkPolicy("deny-all");
    await until(async () => (await session.state()).network === "deny-all");
    fake.vanish(await session.state());
    await until(async () => (await session.bash("y")).generation === 2);
    expect(fake.networkOf(await session.state())).toBe("deny-all");
    await session.delete({ wait: true });
  });

  it("changes at run time where the provider can", async () => {
    const session = await start("network");
    await session.bash("x");
    await session.setNetworkPolicy("allow-all");
    await until(async () => (await session.state()).network === "allow-all");
    await session.delete({ wait: true });
  });
});
