import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ProviderError } from "../../src/providers/errors.js";
import { createMemoryWorker, type MemoryWorker } from "../support/memory-worker.js";
import { call, fail, fileText, putFile, succeed } from "./on-memory.js";

let worker: MemoryWorker;
beforeEach(async () => {
  worker = await createMemoryWorker();
});
afterEach(async () => {
  await worker[Symbol.asyncDispose]();
});
const write = (input: Record<string, unknown>, callId?: string) =>
  succeed(worker, "write", { path: "file", ...input }, callId);

describe("write", () => {
  it("writes text and says whether the file is new", async () => {
    expect(await write({ content: "é\n" })).toEqual({ sizeBytes: 3, created: true });
    expect(await write({ content: "" })).toEqual({ sizeBytes: 0, created: false });
    expect(fileText(worker, "/workspace/file")).toBe("");
  });

  it("passes a mode on, and leaves it alone when none is given", async () => {
    putFile(worker, "/workspace/file", "old", 0o755);
    await write({ content: "new" });
    expect(worker.sandbox.files.get("/workspace/file")?.mode).toBe(0o755);
    await write({ content: "new", mode: 0o600 });
    expect(worker.sandbox.files.get("/workspace/file")?.mode).toBe(0o600);
  });

  it("writes bytes from base64, and refuses what isn't", async () => {
    const bytes = Buffer.of(0, 255, 254);
    await write({ content: bytes.toString("base64"), encoding: "base64" });
    expect(worker.sandbox.files.get("/workspace/file")?.bytes).toEqual(bytes);
    for (const content of ["AP/+!", "not base64", "A", "AP_-"]) {
      expect(await fail(worker, "write", { path: "x", content, encoding: "base64" })).toMatchObject({
        code: "invalid-request",
        field: "input.content",
      });
    }
    expect(fileText(worker, "/workspace/x")).toBeUndefined();
  });

  it("refuses half of a surrogate pair", async () => {
    expect(await fail(worker, "write", { path: "x", content: "a\ud800" })).toMatchObject({
      code: "invalid-request",
      field: "input.content",
    });
    await write({ content: "🎉" });
    expect(fileText(worker, "/workspace/file")).toBe("🎉");
  });

  it("B48 [file-argmax] streams content of any size from the store", async () => {
    const bytes = Buffer.alloc(5_000_000, "0123456789");
    const ref = await worker.deps.artifacts.put(
      (async function* () {
        await Promise.resolve();
        yield bytes;
      })(),
    );
    expect(await write({ ref })).toEqual({ sizeBytes: 5_000_000, created: true });
    expect(worker.sandbox.files.get("/workspace/file")?.bytes.equals(bytes)).toBe(true);
    putFile(worker, "/workspace/file", "old");
    const missing = { ...ref, sizeBytes: 7 };
    expect(await fail(worker, "write", { path: "file", ref: missing })).toMatchObject({ code: "internal" });
    expect(fileText(worker, "/workspace/file")).toBe("old");
  });

  it("writes at most once for a call: what came after it stays", async () => {
    await write({ content: "first" }, "w1");
    putFile(worker, "/workspace/file", "changed since");
    expect(await write({ content: "first" }, "w1")).toEqual({ sizeBytes: 5, created: true });
    expect(fileText(worker, "/workspace/file")).toBe("changed since");
    expect(await fail(worker, "write", { path: "file", content: "other" }, "w1")).toMatchObject({
      code: "conflict",
    });
  });

  it("passes on what the sandbox says", async () => {
    await write({ content: "x" });
    const [channel] = worker.sandbox.channels;
    if (channel === undefined) throw new Error("no channel");
    const { files } = channel;
    Object.defineProperty(channel, "files", {
      value: { ...files, write: () => Promise.reject(new ProviderError("no-space", "the disk is full")) },
    });
    expect(await fail(worker, "write", { path: "file", content: "y" })).toMatchObject({ code: "no-space" });
    expect((await call(worker, "write", { path: "/etc/x", content: "y" })).outcome).toMatchObject({
      error: { code: "denied" },
    });
  });
});
