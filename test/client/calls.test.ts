import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createHoldfastClient, HoldfastError, type Session } from "../../src/client/index.js";
import { createSessionHost, type SessionHost } from "../support/session-host.js";
import { until } from "../support/until.js";

let host: SessionHost;
let session: Session;
beforeAll(async () => {
  host = await createSessionHost("client-calls");
  await host.startWorker();
  session = await host.client.sessions.start({ provider: "just-bash" }, { sessionId: host.newId("calls") });
});
afterAll(async () => {
  await session.delete({ wait: true });
  await host.stop();
});

describe("session.call", () => {
  it("B83 [temporal-dedup] the same id gives the same answer and runs once; with another command it is a conflict", async () => {
    const call = {
      callId: "once",
      tool: "bash",
      input: { command: "echo x >> once; wc -l < once" },
    } as const;
    const [first, twin] = await Promise.all([session.call(call), session.call(call)]);
    expect(first.outcome).toEqual({ kind: "exited", exitCode: 0 });
    expect(twin).toEqual(first);
    expect(await session.call(call)).toEqual(first);
    expect((await session.bash("cat once")).result?.stdout.text).toBe("x\n");
    await expect(session.call({ ...call, input: { command: "echo y >> once" } })).rejects.toMatchObject({
      name: "HoldfastError",
      code: "conflict",
    });
  });

  it("answers `running` after waitMs, and the end to whoever waits for the call", async () => {
    const early = await session.bash("sleep 2; echo late", { callId: "slow", waitMs: 200 });
    expect(early.status).toBe("running");
    expect(early.outcome).toBeUndefined();
    expect((await session.getCall("slow"))?.status).toBe("running");
    const late = await session.awaitCall("slow");
    expect(late).toMatchObject({ status: "done", result: { stdout: { text: "late\n" } } });
    expect(await session.getCall("never")).toBeNull();
    await expect(session.awaitCall("never")).rejects.toMatchObject({ code: "not-found" });
  });

  it("stops waiting when told to, and the call goes on", async () => {
    const abort = new AbortController();
    const call = session.bash("sleep 5; echo survived", { callId: "abandoned", signal: abort.signal });
    await until(async () => (await session.getCall("abandoned")) !== null);
    abort.abort();
    const abortedAt = Date.now();
    await expect(call).rejects.toMatchObject({ name: "AbortError" });
    expect(Date.now() - abortedAt).toBeLessThan(3_000);
    expect((await session.awaitCall("abandoned")).result).toMatchObject({ stdout: { text: "survived\n" } });
  });

  it("more at once than updates can be held: all are answered, each with its own", async () => {
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) => session.bash(`sleep 0.2; echo ${i}`, { callId: `many-${i}` })),
    );
    expect(answers.map((answer) => answer.result?.stdout.text)).toEqual(
      Array.from({ length: 20 }, (_, i) => `${i}\n`),
    );
  });

  it("a second client is not refused while the first holds all updates, and a conflict stays one", async () => {
    const held = Array.from({ length: 8 }, (_, i) => session.bash("sleep 3", { callId: `held-${i}` }));
    await until(
      async () => (await session.state()).calls.running + (await session.state()).calls.queued >= 8,
    );
    // Strangers' updates, so that the session has no room at all.
    const strangers = ["held-0", "held-1"].map((callId) =>
      host.temporal.workflow
        .getHandle(session.sessionId)
        .executeUpdate("awaitCall", { args: [{ callId }] })
        // Refused where the session is full already, which is as good.
        .catch(() => undefined),
    );
    const other = host.client.sessions.get(session.sessionId);
    const answer = await other.bash("echo through", { callId: "through" });
    expect(answer.result?.stdout.text).toBe("through\n");
    await expect(other.bash("echo other", { callId: "held-7" })).rejects.toMatchObject({ code: "conflict" });
    await Promise.allSettled([...held, ...strangers]);
  });

  it.each([
    ["call.tool", { tool: "frob", input: {} }],
    ["call.callId", { tool: "bash", input: {}, callId: "x".repeat(201) }],
    ["call.timeoutMs", { tool: "bash", input: { command: "true" }, timeoutMs: 0 }],
    ["call.input", { tool: "bash", input: "ls" }],
  ])("refuses %s before anything is sent", async (field, call) => {
    const before = (await session.state()).calls;
    await expect(session.call(call as never)).rejects.toMatchObject({ code: "invalid-request", field });
    expect((await session.state()).calls).toEqual(before);
  });

  it("a bad input of a tool is an outcome that names the field", async () => {
    const answer = await session.call({ tool: "read", input: { path: 7 } });
    expect(answer.outcome).toMatchObject({
      kind: "error",
      error: { code: "invalid-request", field: "input.path" },
    });
  });
});

describe("large inputs", () => {
  const content = "0123456789abcdef".repeat(200_000);

  it("B80 [temporal-payload] 3 MB go through the artifact store by themselves", async () => {
    const written = await session.write({ path: "big.txt", content });
    expect(written).toMatchObject({ outcome: { kind: "ok" }, result: { sizeBytes: content.length } });
    const counted = await session.bash("wc -c < big.txt");
    expect(counted.result?.stdout.text.trim()).toBe(String(content.length));
  });

  it("are refused in words by a client without a store", async () => {
    const { address } = host.config.temporal.connection;
    const bare = createHoldfastClient({ address, taskQueue: host.taskQueue });
    await expect(bare.sessions.get(session.sessionId).write({ path: "x", content })).rejects.toMatchObject({
      code: "too-large",
      field: "input",
      hint: expect.stringContaining("artifacts") as string,
    });
    expect((await bare.sessions.get(session.sessionId).bash("echo small")).result?.stdout.text).toBe(
      "small\n",
    );
    await bare.close();
  });
});

describe("a session that has ended", () => {
  it("gives stored answers, refuses new calls as `closed`, and is deleted twice without complaint", async () => {
    const ended = await host.client.sessions.start({ provider: "just-bash" });
    const answer = await ended.bash("echo kept", { callId: "kept" });
    const summary = await ended.delete({ wait: true });
    expect(summary).toMatchObject({ status: "deleted", cleanup: "done", calls: 1 });
    expect(await ended.bash("echo kept", { callId: "kept" })).toEqual(answer);
    expect(await ended.awaitCall("kept")).toEqual(answer);
    await expect(ended.bash("echo new")).rejects.toMatchObject({ code: "closed" });
    await expect(ended.stop()).rejects.toMatchObject({ code: "closed" });
    expect(await ended.delete({ wait: true })).toEqual(summary);
    expect((await ended.state()).status).toBe("deleted");
  });

  it("B82 [temporal-unfinished] a call in progress at delete is answered, not cut off", async () => {
    const doomed = await host.client.sessions.start({ provider: "just-bash" });
    const call = doomed.bash("sleep 60", { callId: "doomed" });
    await until(async () => (await doomed.getCall("doomed"))?.status === "running");
    await doomed.delete();
    expect((await call).outcome).toEqual({ kind: "cancelled", by: "delete" });
  });

  it("terminated is `closed`, unknown is `not-found`", async () => {
    const gone = await host.client.sessions.start({ provider: "just-bash" });
    await gone.bash("true");
    await host.temporal.workflow.getHandle(gone.sessionId).terminate("test");
    await expect(gone.result()).rejects.toMatchObject({ code: "closed" });
    const unknown = host.client.sessions.get(host.newId("unknown"));
    for (const attempt of [
      () => unknown.bash("true"),
      () => unknown.stop(),
      () => unknown.delete(),
      () => unknown.state(),
      () => unknown.result(),
    ]) {
      const error: unknown = await attempt().catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(HoldfastError);
      expect(error).toMatchObject({ code: "not-found" });
    }
  });
});
