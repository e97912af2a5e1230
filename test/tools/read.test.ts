import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { limits } from "../../src/contract/names.js";
import { createMemoryWorker, type MemoryWorker } from "../support/memory-worker.js";
import { fail, putFile, succeed } from "./on-memory.js";

let worker: MemoryWorker;
beforeEach(async () => {
  worker = await createMemoryWorker();
});
afterEach(async () => {
  await worker[Symbol.asyncDispose]();
});
const put = (content: string | Uint8Array) => {
  putFile(worker, "/workspace/file", content, 0o640);
};
const read = (input: Record<string, unknown> = {}) => succeed(worker, "read", { path: "file", ...input });

describe("read", () => {
  it("returns a small file as it is", async () => {
    put("one\r\ntwo\n\nfour");
    expect(await read()).toEqual({
      content: { text: "one\r\ntwo\n\nfour", totalBytes: 14, omittedBytes: 0 },
      totalLines: 4,
      mode: 0o640,
    });
  });

  it("returns an empty file, and a byte order mark", async () => {
    put("");
    expect(await read()).toMatchObject({
      content: { text: "", totalBytes: 0, omittedBytes: 0 },
      totalLines: 0,
    });
    put("\ufeffé\n");
    expect((await read()).content.text).toBe("\ufeffé\n");
  });

  it("returns the lines asked for, and how to go on", async () => {
    put("1\n2\n3\n4\n5\n");
    expect(await read({ offset: 2, limit: 2 })).toMatchObject({
      content: { text: "2\n3\n", totalBytes: 10, omittedBytes: 6 },
      totalLines: 5,
      nextOffset: 4,
    });
    const last = await read({ offset: 4, limit: 2 });
    expect(last.content.text).toBe("4\n5\n");
    expect(last.nextOffset).toBeUndefined();
    expect(await fail(worker, "read", { path: "file", offset: 6 })).toMatchObject({
      code: "invalid-request",
      field: "input.offset",
    });
  });

  it.each([
    ["lines", Array.from({ length: 7001 }, (_, index) => `${index}\n`).join("")],
    ["bytes", `${"é".repeat(999)}\n`.repeat(400) + "no newline at the end"],
    ["what encodes large", "\u0001".repeat(500).concat("\n").repeat(300)],
  ])("pages through a file limited by %s without losing a byte", async (_name, whole) => {
    put(whole);
    let text = "";
    let pages = 0;
    for (let offset: number | undefined = 1; offset !== undefined; pages += 1) {
      const page = await read({ offset });
      expect(page.content.text.split("\n").length).toBeLessThanOrEqual(2001);
      expect(Buffer.byteLength(page.content.text)).toBeLessThanOrEqual(50 * 1024);
      expect(Buffer.byteLength(JSON.stringify(page))).toBeLessThan(limits.answerBytes);
      text += page.content.text;
      offset = page.nextOffset;
    }
    expect(text).toBe(whole);
    expect(pages).toBeGreaterThan(2);
  });

  it("cuts a line after 2,000 characters and says how much of it is missing", async () => {
    put(`${"☕".repeat(2001)}\n${"x".repeat(2000)}\n${"y".repeat(300_000)}`);
    const { content, totalLines, nextOffset } = await read();
    expect(content.text.split("\n")).toEqual([
      `${"☕".repeat(2000)} [... 3 bytes of this line omitted ...]`,
      "x".repeat(2000),
      `${"y".repeat(2000)} [... 298000 bytes of this line omitted ...]`,
    ]);
    expect(content.omittedBytes).toBe(298_003);
    expect([totalLines, nextOffset]).toEqual([3, undefined]);
  });

  it("does not read a large file to its end for the count of lines", async () => {
    put(Buffer.alloc(20 * 1024 * 1024, "12345678\n"));
    const page = await read();
    expect(page.totalLines).toBeUndefined();
    expect(page.nextOffset).toBe(2001);
    expect(page.content.totalBytes).toBe(20 * 1024 * 1024);
    expect((await read({ offset: 1_000_001, limit: 1 })).content.text).toBe("12345678\n");
  });

  it.each([
    ["NUL", Buffer.from("text\0text")],
    ["invalid UTF-8", Buffer.concat([Buffer.from("a line of text, caf"), Buffer.of(0xe9)])],
    ["UTF-16", Buffer.from("\ufeffhello\n", "utf16le")],
  ])("returns %s as base64 and never as damaged text", async (_name, bytes) => {
    put(bytes);
    const { content } = await read();
    expect(content).toEqual({
      text: bytes.toString("base64"),
      encoding: "base64",
      totalBytes: bytes.byteLength,
      omittedBytes: 0,
    });
    expect(await fail(worker, "read", { path: "file", encoding: "utf8" })).toMatchObject({
      code: "invalid-request",
      field: "input.encoding",
    });
  });

  it("knows a binary file by its beginning, whatever the page", async () => {
    put("text\nbinary\0");
    expect(await fail(worker, "read", { path: "file", limit: 1 })).toMatchObject({
      code: "invalid-request",
      field: "input.limit",
    });
  });

  it("reads text of multi-byte characters that its pieces cut", async () => {
    const whole = `x${"é\n".repeat(200_000)}`;
    put(whole);
    const page = await read({ offset: 87_300, limit: 200 });
    expect(page.content.text).toBe("é\n".repeat(200));
  });

  it("refers to the whole of a large binary file, and gives its beginning", async () => {
    const bytes = Buffer.alloc(300_000, Uint8Array.of(0, 1, 2, 253));
    put(bytes);
    const { content } = await read({ encoding: "base64" });
    expect(Buffer.from(content.text, "base64")).toEqual(bytes.subarray(0, 48 * 1024));
    expect(content.omittedBytes).toBe(300_000 - 48 * 1024);
    if (content.full === undefined) throw new Error("no reference");
    expect(Buffer.from(await worker.deps.artifacts.read(content.full, { maxBytes: 300_000 }))).toEqual(bytes);
  });

  it("returns text as base64 on request, and refuses lines of bytes", async () => {
    put("text");
    expect((await read({ encoding: "base64" })).content).toMatchObject({
      text: "dGV4dA==",
      encoding: "base64",
    });
    expect(await fail(worker, "read", { path: "file", encoding: "base64", offset: 1 })).toMatchObject({
      code: "invalid-request",
      field: "input.offset",
    });
  });

  it("says what is missing, no file, or outside", async () => {
    worker.sandbox.others.set("/workspace/pipe", "other");
    expect(await fail(worker, "read", { path: "nothing" })).toMatchObject({ code: "not-found" });
    expect(await fail(worker, "read", { path: "pipe" })).toMatchObject({ code: "not-a-file" });
    expect(await fail(worker, "read", { path: "/etc/passwd" })).toMatchObject({ code: "denied" });
  });
});
