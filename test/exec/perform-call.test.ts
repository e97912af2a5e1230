import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { limits } from "../../src/contract/names.js";
import { answerSchema, outcomeSchema } from "../../src/contract/call.js";
import { performCall } from "../../src/exec/perform-call.js";
import { ProviderError } from "../../src/providers/errors.js";
import { memoryHandle } from "../support/memory-channel.js";
import { dispatchOf } from "../support/dispatch.js";
import { createMemoryWorker, unhurried, type MemoryWorker } from "../support/memory-worker.js";

let worker: MemoryWorker;
beforeEach(async () => {
  worker = await createMemoryWorker();
});
afterEach(async () => {
  await worker[Symbol.asyncDispose]();
});

const perform = (
  ...[dispatch, options]: [Parameters<typeof performCall>[0], ReturnType<typeof unhurried>?]
) => performCall(dispatch, worker.deps, options ?? unhurried());
const json = async function* (value: unknown) {
  await Promise.resolve();
  yield Buffer.from(JSON.stringify(value));
};

describe("performCall", () => {
  it("returns what a command did, with times, as the contract has it", async () => {
    worker.sandbox.programs.set("say", async ({ write }) => {
      write("stdout", "hello\n");
      await sleep(20);
      return { kind: "exited", exitCode: 7 };
    });
    const views: unknown[] = [];
    let claims = 0;
    const ending = await perform(
      dispatchOf("bash", { command: "say" }),
      unhurried({ onClaimed: () => (claims += 1), onOutput: (live) => views.push(live) }),
    );
    expect(ending.outcome).toEqual({ kind: "exited", exitCode: 7 });
    expect(ending.result).toEqual({
      stdout: { text: "hello\n", totalBytes: 6, omittedBytes: 0 },
      stderr: { text: "", totalBytes: 0, omittedBytes: 0 },
    });
    expect(ending.endedAtMs - ending.startedAtMs).toBeGreaterThanOrEqual(15);
    expect(claims).toBe(1);
    expect(views.at(-1)).toEqual({ stdout: 6, stderr: 0, tail: "hello\n" });
    expect(outcomeSchema.safeParse(ending.outcome).success).toBe(true);
    expect(answerSchema.shape.result.safeParse(ending.result).success).toBe(true);
  });

  it("answers the same to the same call, and starts it once", async () => {
    worker.sandbox.programs.set("say", () => Promise.resolve(undefined));
    const first = await perform(dispatchOf("bash", { command: "say" }));
    const second = await perform(dispatchOf("bash", { command: "say" }));
    expect(second).toEqual(first);
    expect(worker.sandbox.starts).toBe(1);
    worker.sandbox.programs.set("other", () => Promise.resolve(undefined));
    const conflict = await perform(dispatchOf("bash", { command: "other" }));
    expect(conflict.outcome).toMatchObject({ kind: "error", error: { code: "conflict" } });
  });

  it.each([
    ["bash", { command: 7 }, "input.command"],
    ["bash", { command: "x", env: { "A-B": "" } }, "input.env"],
    ["bash", { command: "a\0b" }, "input.command"],
    ["read", {}, "input.path"],
    ["read", { path: "a\0b" }, "input.path"],
    ["write", { path: "x" }, "input.content"],
    ["ls", { limit: 0 }, "input.limit"],
  ] as const)("names the field of a bad %s input %j", async (tool, input, field) => {
    const { outcome } = await perform(dispatchOf(tool, { ...input }));
    expect(outcome).toMatchObject({ kind: "error", error: { code: "invalid-request" } });
    if (outcome.kind !== "error") throw new Error("no error");
    expect(outcome.error.field?.startsWith(field)).toBe(true);
    expect(worker.sandbox.channels).toHaveLength(0);
  });

  it("answers unsupported for a tool it doesn't have", async () => {
    const tools = new Map(worker.deps.tools);
    tools.delete("ls");
    const { outcome } = await performCall(dispatchOf("ls", {}), { ...worker.deps, tools }, unhurried());
    expect(outcome).toMatchObject({ kind: "error", error: { code: "unsupported", field: "tool" } });
  });

  it("takes a large input from the store", async () => {
    const command = `say ${"x".repeat(200_000)}`;
    worker.sandbox.programs.set(command, ({ write }) => {
      write("stdout", "long");
      return Promise.resolve(undefined);
    });
    const ref = await worker.deps.artifacts.put(json({ command, cwd: null }));
    const { result } = await perform(dispatchOf("bash", { ref }));
    expect(result).toMatchObject({ stdout: { text: "long" } });
  });

  it("refuses a reference to nothing, to no JSON, and to a bad input", async () => {
    const noJson = await worker.deps.artifacts.put(
      (async function* () {
        await Promise.resolve();
        yield Buffer.from("{");
      })(),
    );
    const bad = await worker.deps.artifacts.put(json({ command: 1 }));
    const codes = await Promise.all(
      [noJson, bad, { ...bad, key: "../x" }, { ...bad, sha256: "x" }].map(async (ref, index) => {
        const { outcome } = await perform(dispatchOf("bash", { ref }, { call: { callId: `c${index}` } }));
        return outcome.kind === "error" ? [outcome.error.code, outcome.error.field] : undefined;
      }),
    );
    expect(codes).toEqual([
      ["invalid-request", "input.ref"],
      ["invalid-request", "input.command"],
      ["invalid-request", "input.ref.key"],
      ["invalid-request", "input.ref.sha256"],
    ]);
  });

  it("gives the command session variables, secrets and its own, the nearest one wins", async () => {
    worker.secretEnv.HOST_TOKEN = "from-env";
    worker.secretFiles["/run/secret"] = Buffer.from("from-file\n");
    worker.sandbox.programs.set("env", ({ write, request }) => {
      write("stdout", JSON.stringify(request.env));
      return Promise.resolve(undefined);
    });
    const { result } = await perform(
      dispatchOf(
        "bash",
        { command: "env", env: { C: "call" } },
        {
          env: { A: "session", B: "session", C: "session" },
          secrets: { B: { from: "env", key: "HOST_TOKEN" }, D: { from: "file", key: "/run/secret" } },
        },
      ),
    );
    const stdout = (result as { stdout: { text: string } }).stdout.text;
    expect(JSON.parse(stdout)).toEqual({ A: "session", B: "from-env", C: "call", D: "from-file" });
  });

  it.each([
    ["env", "MISSING", "not-found"],
    ["file", "/missing", "not-found"],
    ["env", "NUL", "invalid-request"],
    ["env", "LARGE", "too-large"],
    ["file", "/binary", "denied"],
  ] as const)("refuses a secret from %s %s as %s, without telling its value", async (from, key, code) => {
    worker.secretEnv.NUL = "s3cr3t\0value";
    worker.secretEnv.LARGE = "s3cr3t".repeat(30_000);
    worker.secretFiles["/binary"] = Buffer.concat([Buffer.from("s3cr3t"), Buffer.of(0xff)]);
    worker.sandbox.programs.set("x", () => Promise.resolve(undefined));
    const { outcome } = await perform(
      dispatchOf("bash", { command: "x" }, { secrets: { TOKEN: { from, key } } }),
    );
    expect(outcome).toMatchObject({ kind: "error", error: { code, field: "secrets.TOKEN" } });
    expect(JSON.stringify(outcome)).not.toContain("s3cr3t");
    expect(worker.sandbox.starts).toBe(0);
  });

  it("answers for a command that runs already when its secret has gone meanwhile", async () => {
    worker.secretEnv.TOKEN = "s3cr3t";
    let finish = (): void => undefined;
    worker.sandbox.programs.set("slow", async ({ write, request }) => {
      write("stdout", request.env.TOKEN ?? "no secret");
      await new Promise<void>((resolve) => (finish = resolve));
      return undefined;
    });
    const dispatch = dispatchOf(
      "bash",
      { command: "slow" },
      { secrets: { TOKEN: { from: "env", key: "TOKEN" } } },
    );
    const firstWorker = new AbortController();
    const interrupted = perform(dispatch, unhurried({ signal: firstWorker.signal }));
    await expect.poll(() => worker.sandbox.starts).toBe(1);
    firstWorker.abort(new Error("gone"));
    await expect(interrupted).rejects.toThrow("gone");
    delete worker.secretEnv.TOKEN;
    finish();
    expect(await perform(dispatch)).toMatchObject({
      outcome: { kind: "exited", exitCode: 0 },
      result: { stdout: { text: "s3cr3t" } },
    });
    expect(worker.sandbox.starts).toBe(1);
  });

  it("B48 [file-argmax] refuses a variable that Linux would refuse, and takes the largest it takes", async () => {
    worker.sandbox.programs.set("x", () => Promise.resolve(undefined));
    const withValue = (bytes: number) =>
      perform(dispatchOf("bash", { command: "x" }, { env: { AB: "v".repeat(bytes) } }));
    expect((await withValue(131_072 - 4 + 1)).outcome).toMatchObject({
      kind: "error",
      error: { code: "too-large", field: "env.AB" },
    });
    expect((await withValue(131_072 - 4)).outcome.kind).toBe("exited");
  });

  it.each([
    [undefined, undefined, 600_000],
    [1000, undefined, 1000],
    [undefined, 2000, 2000],
    [1000, 2000, 1000],
    [3000, 2000, 2000],
  ])("with a call timeout of %s and an input timeout of %s runs for %s ms", async (call, input, expected) => {
    let timeoutMs = 0;
    worker.sandbox.programs.set("x", ({ request }) => {
      timeoutMs = request.timeoutMs;
      return Promise.resolve(undefined);
    });
    await perform(
      dispatchOf(
        "bash",
        { command: "x", timeoutMs: input ?? null },
        { call: call ? { timeoutMs: call } : {} },
      ),
    );
    expect(timeoutMs).toBe(expected);
  });

  it("ends a tool that takes longer than the call may, as timed out", async () => {
    worker.sandbox.gate = new Promise(() => undefined);
    const { outcome } = await perform(dispatchOf("ls", {}, { call: { timeoutMs: 50 } }));
    expect(outcome).toEqual({ kind: "timed-out", timeoutMs: 50 });
  });

  it("leaves a command's time to the sandbox, which knows when it started", async () => {
    worker.sandbox.programs.set("slow", async () => {
      await sleep(150);
      return undefined;
    });
    const { outcome } = await perform(dispatchOf("bash", { command: "slow" }, { call: { timeoutMs: 40 } }));
    expect(outcome).toEqual({ kind: "exited", exitCode: 0 });
  });

  it("lets go of a tool that hangs when it is told to", async () => {
    worker.sandbox.gate = new Promise(() => undefined);
    const stop = new AbortController();
    const listing = perform(dispatchOf("ls", {}), unhurried({ signal: stop.signal }));
    stop.abort(new Error("shutdown"));
    await expect(listing).rejects.toThrow("shutdown");
  });

  it("waits for a free channel: no call is refused because others run", async () => {
    await using small = await createMemoryWorker({ maxChannels: 1 });
    const signal = new AbortController().signal;
    small.sandbox.programs.set("x", () => Promise.resolve(undefined));
    const other = await small.deps.pool.acquire(memoryHandle("other"), { signal });
    const outcomes = Promise.all(
      [dispatchOf("bash", { command: "x" }), dispatchOf("ls", {}, { call: { callId: "call-2" } })].map(
        async (dispatch) => (await performCall(dispatch, small.deps, unhurried())).outcome.kind,
      ),
    );
    await sleep(100);
    expect(small.sandbox.starts).toBe(0);
    other.release();
    expect(await outcomes).toEqual(["exited", "ok"]);
  });

  it("throws what concerns the session, and the signal's reason", async () => {
    for (const code of ["session-lost", "closed"] as const) {
      worker.sandbox.connectErrors.push(new ProviderError(code, "gone"));
      await expect(perform(dispatchOf("bash", { command: "x" }))).rejects.toMatchObject({ code });
    }
    worker.sandbox.connectErrors.push(new ProviderError("unavailable", "away"));
    await expect(perform(dispatchOf("ls", {}))).rejects.toMatchObject({ code: "unavailable" });

    worker.sandbox.programs.set("wait", () => new Promise(() => undefined));
    const stop = new AbortController();
    const call = perform(dispatchOf("bash", { command: "wait" }), unhurried({ signal: stop.signal }));
    await expect.poll(() => worker.sandbox.starts).toBe(1);
    stop.abort(new Error("shutdown"));
    await expect(call).rejects.toThrow("shutdown");
  });

  it("leaves nothing half-stored of a long output that it stops following", async () => {
    worker.sandbox.programs.set("long", ({ write }) => {
      write("stdout", Buffer.alloc(500_000, "x"));
      return new Promise(() => undefined);
    });
    const stop = new AbortController();
    const views: number[] = [];
    const call = perform(
      dispatchOf("bash", { command: "long" }),
      unhurried({ signal: stop.signal, onOutput: ({ stdout }) => views.push(stdout) }),
    );
    await expect.poll(() => views.at(-1)).toBe(500_000);
    expect(await readdir(join(worker.directory, "tmp"))).toHaveLength(1);
    stop.abort(new Error("shutdown"));
    await expect(call).rejects.toThrow("shutdown");
    await expect.poll(() => readdir(join(worker.directory, "tmp"))).toEqual([]);
  });

  it.each([true, false])("gives the sandbox up when a command could not be ended: %s", async (poisoned) => {
    worker.sandbox.programs.set("x", () => Promise.resolve(undefined));
    await perform(dispatchOf("bash", { command: "x" }));
    const [channel] = worker.sandbox.channels;
    if (channel === undefined) throw new Error("no channel");
    const follow = channel.follow.bind(channel);
    channel.follow = async (...args) => ({ ...(await follow(...args)), poisoned });
    const ending = await perform(dispatchOf("bash", { command: "x" }));
    expect(ending.outcome).toEqual({ kind: "exited", exitCode: 0 });
    expect(ending.sandboxLost?.code).toBe(poisoned ? "session-lost" : undefined);
    expect(ending).not.toHaveProperty("poisoned");
  });

  it("B80 [temporal-payload] puts a larger result into the store too, and keeps the largest in the budget", async () => {
    worker.sandbox.programs.set("noise", ({ write }) => {
      write("stdout", Buffer.alloc(400_000));
      write("stderr", "\u0001".repeat(400_000));
      return Promise.resolve(undefined);
    });
    const ending = await perform(dispatchOf("bash", { command: "noise" }));
    expect(Buffer.byteLength(JSON.stringify(ending))).toBeLessThan(limits.answerBytes);
    if (ending.resultRef === undefined) throw new Error("no reference");
    const stored = await worker.deps.artifacts.read(ending.resultRef, { maxBytes: limits.answerBytes });
    expect(JSON.parse(Buffer.from(stored).toString())).toEqual(ending.result);
  });
});
