import { WorkflowUpdateFailedError } from "@temporalio/client";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Answer } from "../../src/contract/call.js";
import type { SessionView } from "../../src/contract/state.js";
import { createSessionHost, type SessionHost } from "../support/session-host.js";
import { until } from "../support/until.js";

let host: SessionHost;
beforeAll(async () => {
  host = await createSessionHost("messages");
  await host.startWorker();
});
afterAll(() => host.stop());

/** A session as a stranger has it: Temporal's own client and nothing of ours. */
async function foreign(label: string, spec: unknown = { provider: "just-bash" }) {
  return host.temporal.workflow.start("sandboxSession", {
    workflowId: host.newId(label),
    taskQueue: host.taskQueue,
    args: [spec],
  });
}
type Foreign = Awaited<ReturnType<typeof foreign>>;
const stateOf = (session: Foreign) => session.query<SessionView>("state");
const answerOf = (session: Foreign, callId: string) => session.query<Answer | null, [string]>("call", callId);
const end = async (session: Foreign) => {
  await session.signal("delete", {});
  expect(await session.result()).toMatchObject({ status: "deleted", cleanup: "done" });
};

const nonsense: unknown[] = [
  null,
  undefined,
  7,
  "text",
  [],
  {},
  { callId: 7 },
  { callId: "x", tool: "bash" },
];

describe("malformed messages", () => {
  it("signals of every kind are recorded and harm nothing", async () => {
    const session = await foreign("signals");
    const names = ["callTool", "cancelCall", "stop", "extend", "setNetworkPolicy"] as const;
    for (const name of names) {
      for (const value of nonsense) {
        // These are fine for a stop, which has defaults.
        if (name === "stop" && (value === null || value === undefined || typeof value === "object")) continue;
        await session.signal(name, value);
      }
    }
    await session.signal("callTool", { callId: "good", tool: "bash", input: { command: "echo fine" } });
    await until(async () => (await answerOf(session, "good"))?.status === "done");
    const state = await stateOf(session);
    expect(state.rejected).toHaveLength(20);
    expect(new Set(state.rejected.map((failure) => failure.code))).toEqual(new Set(["invalid-request"]));
    expect(state.calls).toEqual({ queued: 0, running: 0, done: 1 });
    await end(session);
  });

  it("updates are refused with the code as type and the field in the details", async () => {
    const session = await foreign("updates");
    const refused = async (name: string, value: unknown) => {
      const error: unknown = await session
        .executeUpdate(name, { args: [value] })
        .catch((cause: unknown) => cause);
      expect(error).toBeInstanceOf(WorkflowUpdateFailedError);
      return (error as WorkflowUpdateFailedError).cause;
    };
    for (const value of nonsense) {
      expect(await refused("callTool", value)).toMatchObject({ type: "invalid-request" });
    }
    expect(await refused("callTool", { callId: "x", tool: "nope", input: {} })).toMatchObject({
      type: "invalid-request",
      details: [{ field: "tool", message: expect.stringContaining("bash") as string }],
    });
    expect(await refused("awaitCall", { callId: "unknown" })).toMatchObject({ type: "not-found" });
    expect(await refused("extend", { idleMs: -1 })).toMatchObject({ details: [{ field: "idleMs" }] });
    expect(await refused("setNetworkPolicy", { network: "allow-all" })).toMatchObject({
      type: "unsupported",
    });
    expect(await refused("upload", { files: [] })).toMatchObject({ type: "unsupported" });
    await end(session);
  });

  it("a tool's input is checked where it is carried out, and the answer names the field", async () => {
    const session = await foreign("input");
    const answer = await session.executeUpdate<Answer, [unknown]>("callTool", {
      args: [{ callId: "bad", tool: "read", input: { path: "a\0b", offset: 0 } }],
    });
    expect(answer).toMatchObject({
      status: "done",
      outcome: {
        kind: "error",
        error: { code: "invalid-request", field: expect.stringMatching(/^input\./) as string },
      },
    });
    await end(session);
  });

  it.each([null, 7, [], "docker", {}, { provider: "nope" }, { provider: "just-bash", limits: { pids: -1 } }])(
    "the spec %j fails the session by its field, with nothing made",
    async (spec) => {
      const session = await foreign("spec", spec);
      const error: unknown = await session.result().catch((cause: unknown) => cause);
      expect(error).toMatchObject({
        cause: { type: "invalid-request", details: [{ field: expect.stringMatching(/^spec/) as string }] },
      });
      expect(await stateOf(session)).toMatchObject({ status: "failed" });
    },
  );
});

describe("replyTo", () => {
  it("answers another workflow, and records what can't be delivered", async () => {
    const session = await foreign("reply");
    const target = await foreign("target");
    const ask = (callId: string, workflowId: string, extra = {}) =>
      session.signal("callTool", {
        callId,
        tool: "bash",
        input: { command: "echo answer" },
        replyTo: { workflowId, signal: "cancelCall" },
        ...extra,
      });
    await ask("delivered", target.workflowId);
    await ask("unknown", host.newId("nobody"));
    await ask("self", session.workflowId);
    const reply = async (callId: string) => (await answerOf(session, callId))?.reply;
    await until(async () => (await reply("delivered")) === "delivered");
    await until(async () => (await reply("unknown")) === "undeliverable");
    await until(async () => (await reply("self")) !== undefined);
    await end(target);
    await ask("closed", target.workflowId);
    await until(async () => (await reply("closed")) === "undeliverable");
    // A refused call is answered too.
    await ask("refused", host.newId("nobody"), { tool: "nope" });
    await until(async () => (await stateOf(session)).rejected.length === 1);
    await end(session);
  });
});

describe("B83 [temporal-dedup]", () => {
  it("one run, one answer, however often and whenever it is asked", async () => {
    const session = await foreign("dedup");
    const request = { callId: "once", tool: "bash", input: { command: "echo x >> f; wc -l < f" } };
    const ask = () => session.executeUpdate<Answer, [unknown]>("callTool", { args: [request] });
    const answers = await Promise.all([ask(), ask(), session.signal("callTool", request).then(ask)]);
    answers.push(await ask());
    for (const answer of answers) expect(answer).toEqual(answers[0]);
    expect(answers[0]).toMatchObject({ result: { stdout: { text: "1\n" } } });
    const other = await session
      .executeUpdate("callTool", { args: [{ ...request, input: { command: "other" } }] })
      .catch((error: unknown) => error);
    expect(other).toMatchObject({ cause: { type: "conflict" } });
    await end(session);
    expect(await answerOf(session, "once")).toEqual(answers[0]);
  });
});

describe("B82 [temporal-unfinished]", () => {
  it("delete ends a running call with a definite answer, and only then the session closes", async () => {
    const session = await foreign("unfinished");
    await session.executeUpdate("callTool", {
      args: [{ callId: "a", tool: "bash", input: { command: "true" } }],
    });
    const long = session.executeUpdate<Answer, [unknown]>("callTool", {
      args: [{ callId: "long", tool: "bash", input: { command: "sleep 100" }, timeoutMs: 200_000 }],
    });
    const queued = Array.from({ length: 12 }, (_, index) => `q${index}`);
    await until(async () => (await answerOf(session, "long"))?.status === "running");
    for (const callId of queued) {
      await session.signal("callTool", { callId, tool: "bash", input: { command: "sleep 100" } });
    }
    await session.signal("delete", {});
    expect((await long).outcome).toEqual({ kind: "cancelled", by: "delete" });
    expect(await session.result()).toMatchObject({ cleanup: "done", calls: 14 });
    for (const callId of queued) {
      expect((await answerOf(session, callId))?.outcome).toEqual({ kind: "cancelled", by: "delete" });
    }
  });

  it("B78 [temporal-cancel] cancelling the workflow deletes the sandbox, with its calls answered", async () => {
    const session = await foreign("cancel");
    await session.signal("callTool", { callId: "long", tool: "bash", input: { command: "sleep 100" } });
    await until(async () => (await answerOf(session, "long"))?.status === "running");
    await session.cancel();
    const startedAt = Date.now();
    await expect(session.result()).rejects.toMatchObject({ cause: { name: "CancelledFailure" } });
    expect(Date.now() - startedAt).toBeLessThan(30_000);
    expect((await answerOf(session, "long"))?.outcome).toEqual({ kind: "cancelled", by: "workflow-cancel" });
  });
});

describe("cancelCall and stop", () => {
  it("end a running and a queued call, each with its own word", async () => {
    const session = await foreign("cancel-call", { provider: "just-bash", maxConcurrentCalls: 1 });
    const call = (callId: string) =>
      session.signal("callTool", { callId, tool: "bash", input: { command: "sleep 100" } });
    await call("running");
    await call("queued");
    await call("stopped");
    await until(async () => (await answerOf(session, "running"))?.status === "running");
    await session.signal("cancelCall", { callId: "queued" });
    await until(async () => (await answerOf(session, "queued"))?.status === "done");
    expect((await answerOf(session, "queued"))?.outcome).toEqual({ kind: "cancelled", by: "cancelCall" });
    await session.signal("cancelCall", { callId: "running" });
    await until(async () => (await answerOf(session, "running"))?.status === "done");
    expect((await answerOf(session, "running"))?.outcome).toEqual({ kind: "cancelled", by: "cancelCall" });
    await until(async () => (await answerOf(session, "stopped"))?.status === "running");
    expect(await session.executeUpdate("stop", { args: [{ graceMs: 100 }] })).toMatchObject({
      accepted: true,
    });
    await until(async () => (await stateOf(session)).status === "stopped");
    expect((await answerOf(session, "stopped"))?.outcome).toEqual({ kind: "cancelled", by: "stop" });
    await session.signal("cancelCall", { callId: "never-heard-of" });
    expect((await stateOf(session)).status).toBe("stopped");
    await end(session);
  });

  it("a stop keeps the queue and resumes for it, unless it says cancelQueued", async () => {
    const session = await foreign("stop-queue", { provider: "just-bash", maxConcurrentCalls: 1 });
    const call = (callId: string, command: string) =>
      session.signal("callTool", { callId, tool: "bash", input: { command } });
    await call("first", "sleep 1; echo first");
    await call("second", "echo second");
    await session.signal("stop", {});
    await until(async () => (await answerOf(session, "second"))?.status === "done");
    expect(await answerOf(session, "first")).toMatchObject({ result: { stdout: { text: "first\n" } } });
    await call("third", "sleep 1");
    await call("fourth", "echo fourth");
    await until(async () => (await answerOf(session, "third"))?.status === "running");
    await session.signal("stop", { cancelQueued: true });
    await until(async () => (await stateOf(session)).status === "stopped");
    expect((await answerOf(session, "fourth"))?.outcome).toEqual({ kind: "cancelled", by: "stop" });
    expect((await answerOf(session, "third"))?.outcome).toEqual({ kind: "exited", exitCode: 0 });
    await end(session);
  });
});
