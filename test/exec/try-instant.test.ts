import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { CallDispatch } from "../../src/contract/activities.js";
import { performCall } from "../../src/exec/perform-call.js";
import { tryInstant } from "../../src/exec/try-instant.js";
import { ProviderError } from "../../src/providers/errors.js";
import { dispatchOf } from "../support/dispatch.js";
import { memoryHandle } from "../support/memory-channel.js";
import { createMemoryWorker, unhurried, type MemoryWorker } from "../support/memory-worker.js";

let worker: MemoryWorker;
beforeEach(async () => {
  worker = await createMemoryWorker();
  worker.sandbox.programs.set("quick", ({ write }) => {
    write("stdout", "quick\n");
    return Promise.resolve(undefined);
  });
});
afterEach(async () => {
  await worker[Symbol.asyncDispose]();
});

/** Generous against a noisy machine, where a test isn't about the deadline itself. */
const attempt = (dispatch: CallDispatch, softDeadlineMs = 2000) =>
  tryInstant(dispatch, worker.deps, softDeadlineMs);
const warm = async () => {
  const lease = await worker.deps.pool.acquire(memoryHandle(), { signal: new AbortController().signal });
  lease.release();
};
const quick = dispatchOf("bash", { command: "quick" });

describe("tryInstant", () => {
  it("does an instant call on an open channel", async () => {
    await warm();
    const step = await attempt(quick);
    expect(step).toMatchObject({
      status: "done",
      ending: { outcome: { kind: "exited", exitCode: 0 }, result: { stdout: { text: "quick\n" } } },
    });
  });

  it("without an open channel claims nothing, and opens one for what follows", async () => {
    expect(await attempt(quick)).toEqual({ status: "not-here" });
    expect(worker.sandbox.starts).toBe(0);
    await vi.waitFor(async () => {
      expect(await attempt(quick)).toMatchObject({ status: "done" });
    });
    expect(worker.sandbox.channels).toHaveLength(1);
  });

  it("answers bad input at once, without a sandbox", async () => {
    expect(await attempt(dispatchOf("bash", {}))).toMatchObject({
      status: "done",
      ending: { outcome: { kind: "error", error: { code: "invalid-request", field: "input.command" } } },
    });
    expect(worker.sandbox.channels).toHaveLength(0);
  });

  it("hands a running command over, and what follows gets its whole output", async () => {
    await warm();
    let finish = (): void => undefined;
    worker.sandbox.programs.set("slow", async ({ write }) => {
      write("stdout", "begin ");
      await new Promise<void>((resolve) => (finish = resolve));
      write("stdout", "end");
      return undefined;
    });
    const slow = dispatchOf("bash", { command: "slow" });
    const startedAt = performance.now();
    expect(await attempt(slow, 60)).toEqual({ status: "running" });
    expect(performance.now() - startedAt).toBeLessThan(1000);
    const followed = performCall(slow, worker.deps, unhurried());
    await vi.waitFor(() => {
      expect(worker.sandbox.starts).toBe(1);
    });
    finish();
    expect(await followed).toMatchObject({ result: { stdout: { text: "begin end" } } });
    expect(worker.sandbox.starts).toBe(1);
  });

  it("says not-here when nothing was claimed by the deadline, and holds nothing afterwards", async () => {
    await warm();
    let open = (): void => undefined;
    worker.sandbox.gate = new Promise<void>((resolve) => (open = resolve));
    expect(await attempt(quick, 40)).toEqual({ status: "not-here" });
    open();
    worker.sandbox.gate = undefined;
    expect(await performCall(quick, worker.deps, unhurried())).toMatchObject({
      result: { stdout: { text: "quick\n" } },
    });
    expect(worker.sandbox.starts).toBe(1);
  });

  it("does not try what may take long: content or input from the store", async () => {
    await warm();
    const ref = await worker.deps.artifacts.put(
      (async function* () {
        await Promise.resolve();
        yield Buffer.from('{"command":"quick"}');
      })(),
    );
    expect(await attempt(dispatchOf("bash", { ref }))).toEqual({ status: "not-here" });
    expect(await attempt(dispatchOf("write", { path: "x", ref }))).toEqual({ status: "not-here" });
    expect(worker.sandbox.files.size).toBe(0);
  });

  it("never throws: a broken channel is the host queue's business", async () => {
    await warm();
    const [channel] = worker.sandbox.channels;
    if (channel === undefined) throw new Error("no channel");
    channel.run = () => Promise.reject(new ProviderError("unavailable", "broken"));
    expect(await attempt(quick, 100)).toEqual({ status: "not-here" });
    await warm();
    const latest = worker.sandbox.channels.at(-1);
    if (latest === undefined) throw new Error("no channel");
    latest.run = () => Promise.reject(new TypeError("a defect"));
    expect(await attempt(quick, 100)).toEqual({ status: "not-here" });
  });

  it("answers a refusal of the sandbox as the call's own failure", async () => {
    await warm();
    expect(await attempt(dispatchOf("bash", { command: "no such program" }))).toMatchObject({
      status: "done",
      ending: { outcome: { kind: "error", error: { code: "cannot-start" } } },
    });
  });
});
