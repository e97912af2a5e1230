import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createHoldfastClient } from "../../src/client/index.js";
import type { SessionSpec } from "../../src/contract/spec.js";
import { createSessionHost, type SessionHost } from "../support/session-host.js";
import { until } from "../support/until.js";

let host: SessionHost;
beforeAll(async () => {
  host = await createSessionHost("client-start");
  await host.startWorker();
});
afterAll(() => host.stop());

const spec = { provider: "just-bash" } as const;

describe("sessions.start", () => {
  it.each([
    ["spec.provider", { provider: "podman" }],
    ["spec.provider", {}],
    ["spec.limits.memoryBytes", { ...spec, limits: { memoryBytes: -1 } }],
    ["spec.timeouts.idleMs", { ...spec, timeouts: { idleMs: 0 } }],
    ["spec.workspace", { ...spec, workspace: "/a/../etc" }],
    ["spec.env.1X", { ...spec, env: { "1X": "y" } }],
    ["spec", "just-bash"],
  ])("refuses %s before anything is sent", async (field, bad) => {
    const sessionId = host.newId("bad");
    const error = await host.client.sessions
      .start(bad as SessionSpec, { sessionId })
      .catch((e: unknown) => e);
    expect(error).toMatchObject({ name: "HoldfastError", code: "invalid-request", field });
    await expect(host.temporal.workflow.getHandle(sessionId).describe()).rejects.toThrow();
  });

  it("refuses a spec that the server would not take, in words", async () => {
    const setup = Array.from({ length: 1000 }, () => `echo ${"x".repeat(2000)}`);
    const error = await host.client.sessions.start({ ...spec, template: { setup } }).catch((e: unknown) => e);
    expect(error).toMatchObject({ name: "HoldfastError", field: expect.stringMatching(/^spec/) as string });
    expect((error as { hint?: string }).hint).toBeTruthy();
  });

  it.each(["", "a\nb", "x".repeat(201), "template/h/k"])("refuses the session id %j", async (sessionId) => {
    await expect(host.client.sessions.start(spec, { sessionId })).rejects.toMatchObject({
      code: "invalid-request",
      field: "sessionId",
    });
    expect(() => host.client.sessions.get(sessionId)).toThrow("no session id");
  });

  it("an open id is a conflict, and the session that has it goes on", async () => {
    const sessionId = host.newId("taken");
    const session = await host.client.sessions.start(spec, { sessionId });
    await expect(host.client.sessions.start(spec, { sessionId })).rejects.toMatchObject({
      code: "conflict",
      message: expect.stringContaining(sessionId) as string,
    });
    expect((await session.bash("echo here")).result?.stdout.text).toBe("here\n");
    await session.delete({ wait: true });
  });

  it("tells Temporal's UI what it is", async () => {
    const session = await host.client.sessions.start({ ...spec, labels: { team: "a,b=c" } });
    const described = await host.temporal.workflow.getHandle(session.sessionId).describe();
    expect(described.memo).toMatchObject({
      holdfast: { provider: "just-bash" },
      holdfastLabels: { team: "a,b=c" },
    });
    expect(await described.staticSummary()).toBe("Sandbox session on just-bash");
    expect(await described.staticDetails()).toContain(`holdfast session state ${session.sessionId}`);
    await session.delete({ wait: true });
  });
});

describe("sessions.list", () => {
  it("finds sessions by status, provider and host, and tells open from ended", async () => {
    const running = await host.client.sessions.start(spec, { sessionId: host.newId("listed") });
    const stopped = await host.client.sessions.start(spec, { sessionId: host.newId("listed") });
    const deleted = await host.client.sessions.start(spec, { sessionId: host.newId("listed") });
    await running.bash("true");
    await stopped.bash("true");
    await stopped.stop({ wait: true });
    await deleted.delete({ wait: true });
    const hostId = (await running.state()).host ?? "";
    const ids = async (filter = {}) =>
      (await host.client.sessions.list({ host: hostId, ...filter })).map((item) => item.sessionId);
    // The server's list lags behind.
    await until(async () => (await ids({ status: "stopped" })).includes(stopped.sessionId));
    await until(async () => (await ids({ status: "running" })).includes(running.sessionId));
    await until(async () => (await ids({ status: "deleted" })).includes(deleted.sessionId));
    expect(await ids({ status: "running" })).not.toContain(stopped.sessionId);
    expect(await ids({ open: true })).not.toContain(deleted.sessionId);
    expect(await ids({ open: false })).not.toContain(running.sessionId);
    expect(await ids({ provider: "docker" })).toEqual([]);
    expect(await ids({ limit: 1 })).toHaveLength(1);
    expect(await host.client.sessions.list({ host: "elsewhere" })).toEqual([]);
    await running.delete({ wait: true });
    await stopped.delete({ wait: true });
  });
});

describe("a client without a server", () => {
  it("says so within seconds, with the address and what to do", async () => {
    const client = createHoldfastClient({ address: "127.0.0.1:1" });
    const startedAt = Date.now();
    await expect(client.sessions.start(spec)).rejects.toMatchObject({
      code: "unavailable",
      message: "No Temporal server answers on 127.0.0.1:1.",
      hint: expect.stringContaining("TEMPORAL_ADDRESS") as string,
    });
    expect(Date.now() - startedAt).toBeLessThan(20_000);
    await expect(client.sessions.get("s").bash("true")).rejects.toMatchObject({ code: "unavailable" });
    await client.close();
  });

  it("names a namespace that is not there, and the address", async () => {
    const { address } = host.config.temporal.connection;
    const client = createHoldfastClient({ address, namespace: "nowhere" });
    for (const attempt of [
      () => client.sessions.start(spec),
      () => client.sessions.list(),
      () => client.sessions.get("s").bash("true"),
      () => client.sessions.get("s").stop(),
      () => client.sessions.get("s").result(),
      () => client.server(),
    ]) {
      await expect(attempt()).rejects.toMatchObject({
        code: "not-found",
        message: expect.stringContaining(`namespace nowhere not found on ${address}`) as string,
        hint: expect.stringContaining("TEMPORAL_NAMESPACE") as string,
      });
    }
    await client.close();
  });
});
