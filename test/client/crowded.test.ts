import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Session } from "../../src/client/index.js";
import { createSessionHost, type SessionHost } from "../support/session-host.js";
import { until } from "../support/until.js";

let host: SessionHost;
let session: Session;
beforeAll(async () => {
  host = await createSessionHost("client-crowded");
  await host.startWorker();
  session = await host.client.sessions.start({ provider: "just-bash" }, { sessionId: host.newId("crowded") });
});
afterAll(async () => {
  await session.delete({ wait: true });
  await host.stop();
});

/** All updates that one handle holds are taken, so that its next call goes by signal and query. */
async function crowd(seconds: number): Promise<{ callIds: string[]; answers: Promise<unknown> }> {
  const callIds = Array.from({ length: 6 }, () => host.newId("held"));
  const answers = Promise.all(callIds.map((callId) => session.bash(`sleep ${seconds}`, { callId })));
  await until(async () =>
    (await Promise.all(callIds.map((id) => session.getCall(id)))).every((answer) => answer !== null),
  );
  return { callIds, answers };
}

describe("calls by signal and query", () => {
  it("B83 [temporal-dedup] another request under a known id is a conflict, the same one gives its answer", async () => {
    const call = { callId: "known", tool: "bash", input: { command: "echo x >> known; cat known" } } as const;
    const first = await session.call(call);
    const { answers } = await crowd(5);
    const again = session.call(call);
    const other = session.call({ ...call, input: { command: "echo y" } });
    await expect(other).rejects.toMatchObject({ code: "conflict", field: "callId" });
    expect(await again).toEqual(first);
    await answers;
  });

  it("an unknown call is `not-found`, whatever the session refused to others", async () => {
    const { answers } = await crowd(4);
    await host.temporal.workflow
      .getHandle(session.sessionId)
      .signal("callTool", { callId: "stranger", tool: "nonsense", input: {} });
    await until(async () => (await session.state()).rejected.length > 0);
    await expect(session.awaitCall("never-sent")).rejects.toMatchObject({
      code: "not-found",
      message: expect.stringContaining("never-sent") as string,
    });
    await answers;
  });

  it("thirty known calls at once get their own answers", async () => {
    const calls = Array.from({ length: 30 }, (_, i) => ({
      callId: `again-${i}`,
      tool: "bash" as const,
      input: { command: `echo ${i}` },
    }));
    const first = await Promise.all(calls.map((call) => session.call(call)));
    const { answers } = await crowd(8);
    expect(await Promise.all(calls.map((call) => session.call(call)))).toEqual(first);
    await answers;
  });

  it("ends a wait at once when told to, with the caller's reason", async () => {
    const { callIds, answers } = await crowd(6);
    const abort = new AbortController();
    const waiting = session.awaitCall(String(callIds[0]), { signal: abort.signal });
    await sleep(1_500);
    const reason = new Error("enough");
    abort.abort(reason);
    const abortedAt = Date.now();
    await expect(waiting).rejects.toBe(reason);
    expect(Date.now() - abortedAt).toBeLessThan(2_000);
    await answers;
  });
});

it("ten retries at once of known calls of a deleted session are given the stored answers", async () => {
  const ended = await host.client.sessions.start({ provider: "just-bash" });
  const calls = Array.from({ length: 10 }, (_, i) => ({
    callId: `k${i}`,
    tool: "bash" as const,
    input: { command: `echo ${i}` },
  }));
  const first = await Promise.all(calls.map((call) => ended.call(call)));
  await ended.delete({ wait: true });
  expect(await Promise.all(calls.map((call) => ended.call(call)))).toEqual(first);
  const fresh = Array.from({ length: 10 }, () => ended.bash("true").catch((error: unknown) => error));
  for (const error of await Promise.all(fresh)) expect(error).toMatchObject({ code: "closed" });
});
