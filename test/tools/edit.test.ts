import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { limits } from "../../src/contract/names.js";
import { createMemoryWorker, type MemoryWorker } from "../support/memory-worker.js";
import { fail, fileText, putFile, succeed } from "./on-memory.js";

let worker: MemoryWorker;
beforeEach(async () => {
  worker = await createMemoryWorker();
});
afterEach(async () => {
  await worker[Symbol.asyncDispose]();
});
const put = (content: string | Uint8Array) => {
  putFile(worker, "/workspace/file", content, 0o750);
};
const edit = (...edits: Record<string, unknown>[]) => succeed(worker, "edit", { path: "file", edits });
const refuse = (...edits: Record<string, unknown>[]) => fail(worker, "edit", { path: "file", edits });
const bytes = () => worker.sandbox.files.get("/workspace/file")?.bytes;
const text = () => fileText(worker, "/workspace/file");

describe("edit", () => {
  it("replaces a unique text, keeps the mode, and returns a unified diff", async () => {
    put("one\ntwo\nthree\n");
    expect(await edit({ oldText: "two", newText: "2" })).toEqual({
      replacements: 1,
      diff: ["--- file", "+++ file", "@@ -1,3 +1,3 @@", " one", "-two", "+2", " three", ""].join("\n"),
    });
    expect(text()).toBe("one\n2\nthree\n");
    expect(worker.sandbox.files.get("/workspace/file")?.mode).toBe(0o750);
  });

  it.each([false, true])(
    "B53 [edit-dollar] inserts `$&` and its like literally (replaceAll %s)",
    async (replaceAll) => {
      put("A\nB\ntarget\nC\n");
      await edit({ oldText: "target", newText: "x$&y$$z$`w$'v$1", replaceAll });
      expect(text()).toBe("A\nB\nx$&y$$z$`w$'v$1\nC\n");
    },
  );

  it("takes old text literally too", async () => {
    put("a.c abc (a|b)* [x] \\d ^$ {1}\n");
    await edit({ oldText: "a.c", newText: "1" }, { oldText: "(a|b)* [x] \\d ^$ {1}", newText: "2" });
    expect(text()).toBe("1 abc 2\n");
  });

  it.each([false, true])("B54 [edit-crlf] keeps CR LF (replaceAll %s)", async (replaceAll) => {
    put("alpha\r\nbeta\r\ngamma");
    await edit({ oldText: "alpha\nbeta", newText: "ALPHA\nBETA", replaceAll });
    expect(text()).toBe("ALPHA\r\nBETA\r\ngamma");
  });

  it("B54 [edit-crlf] leaves mixed line endings and a lone CR outside the match alone", async () => {
    put("a\r\nb\nc\r\n\rd\r\n");
    await edit({ oldText: "b\n", newText: "B1\nB2\n" });
    expect(text()).toBe("a\r\nB1\nB2\nc\r\n\rd\r\n");
    await edit({ oldText: "a\n", newText: "A1\nA2\n" });
    expect(text()).toBe("A1\r\nA2\r\nB1\nB2\nc\r\n\rd\r\n");
    expect(await refuse({ oldText: "\r\n\rd\n", newText: "" })).toMatchObject({ code: "not-found" });
  });

  it("B54 [edit-crlf] ends new lines as the file does, unless they are written out", async () => {
    put("one\r\ntwo\r\n");
    await edit({ oldText: "two", newText: "2\n3" });
    expect(text()).toBe("one\r\n2\r\n3\r\n");
    await edit({ oldText: "2\r\n3\r\n", newText: "2\n3\n" });
    expect(text()).toBe("one\r\n2\n3\n");
    put("one\ntwo\n");
    await edit({ oldText: "two\n", newText: "2\r\n" });
    expect(text()).toBe("one\n2\r\n");
  });

  it("B54 [edit-crlf] counts a text in both line endings as two", async () => {
    put("x\ny x\r\ny");
    expect(await refuse({ oldText: "x\ny", newText: "z" })).toMatchObject({ code: "not-unique" });
    await edit({ oldText: "x\ny", newText: "1\n2", replaceAll: true });
    expect(text()).toBe("1\n2 1\r\n2");
    put("a\r\nb");
    await edit({ oldText: "\nb", newText: "\nB" });
    expect(text()).toBe("a\r\nB");
  });

  it.each([
    ["Latin-1", Buffer.concat([Buffer.from("const x = 1;\n// caf"), Buffer.of(0xe9, 0x0a)])],
    ["a byte order mark", Buffer.from("\ufeffconst x = 1; é\n")],
    ["a real U+FFFD", Buffer.from("const x = 1; // \ufffd\n")],
  ])("B55 [edit-encoding] keeps the bytes of %s", async (_name, before) => {
    put(before);
    const { diff } = await edit({ oldText: "x = 1", newText: "x = 2" });
    const expected = Buffer.from(before);
    expected[before.indexOf("1;")] = "2".charCodeAt(0);
    expect(bytes()).toEqual(expected);
    expect(diff).toContain("x = 2");
  });

  it("B55 [edit-encoding] refuses UTF-16 and leaves it as it is", async () => {
    const utf16 = Buffer.from("\ufeffx = 1\n", "utf16le");
    put(utf16);
    expect(await refuse({ oldText: "x = 1", newText: "x = 2" })).toMatchObject({ code: "not-found" });
    expect(bytes()).toEqual(utf16);
  });

  it("matches characters outside ASCII, and never half of one", async () => {
    put("caf\u00e9 ☕ é\n");
    await edit({ oldText: "☕ é", newText: "🎉" });
    expect(text()).toBe("café 🎉\n");
    put(Buffer.from("\u00e9"));
    expect(await refuse({ oldText: "\u00c3", newText: "x" })).toMatchObject({ code: "not-found" });
  });

  it("names the edit and the count, and changes nothing", async () => {
    put("aaa\nb\n");
    expect(await refuse({ oldText: "b", newText: "c" }, { oldText: "missing", newText: "x" })).toMatchObject({
      code: "not-found",
      field: "input.edits.1.oldText",
    });
    expect(await refuse({ oldText: "aa", newText: "x" })).toMatchObject({
      code: "not-unique",
      field: "input.edits.0.oldText",
      message: expect.stringContaining("2 times") as string,
    });
    expect(await refuse({ oldText: "b", newText: "b" })).toMatchObject({ code: "invalid-request" });
    expect(text()).toBe("aaa\nb\n");
  });

  it("applies edits one after the other, and counts all replacements", async () => {
    put("a b a\n");
    const { replacements } = await edit(
      { oldText: "a", newText: "bb", replaceAll: true },
      { oldText: "bb b bb", newText: "done" },
    );
    expect(replacements).toBe(3);
    expect(text()).toBe("done\n");
  });

  it("edits at most once for a call, and tells the first result again", async () => {
    put("n = 1\n");
    const input = { path: "file", edits: [{ oldText: "1", newText: "11" }] };
    const first = await succeed(worker, "edit", input, "e1");
    expect(await succeed(worker, "edit", input, "e1")).toEqual(first);
    expect(text()).toBe("n = 11\n");
  });

  it("loses none of several edits of one file at once", async () => {
    put(Array.from({ length: 20 }, (_, index) => `line-${index};`).join("\n"));
    await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        edit({ oldText: `line-${index};`, newText: `done-${index};` }),
      ),
    );
    expect(text()).toBe(Array.from({ length: 20 }, (_, index) => `done-${index};`).join("\n"));
  });

  it("does not fail because the edit before it did", async () => {
    put("a\n");
    const [first, second] = await Promise.allSettled([
      edit({ oldText: "missing", newText: "x" }),
      edit({ oldText: "a", newText: "b" }),
    ]);
    expect([first.status, second.status]).toEqual(["rejected", "fulfilled"]);
    expect(text()).toBe("b\n");
  });

  it("B48 [file-argmax] edits a large file, with an answer in the budget", async () => {
    put("line of text\n".repeat(30_000) + "target\n");
    const { diff } = await edit({ oldText: "target", newText: "new\n".repeat(50_000) });
    expect(Buffer.byteLength(JSON.stringify(diff))).toBeLessThan(limits.answerBytes / 2);
    const startedAt = performance.now();
    const all = await edit({ oldText: "line of", newText: "row of", replaceAll: true });
    expect(all.replacements).toBe(30_000);
    expect(performance.now() - startedAt).toBeLessThan(10_000);
    put(Buffer.alloc(17 * 1024 * 1024, "x"));
    expect(await refuse({ oldText: "y", newText: "z" })).toMatchObject({ code: "too-large" });
  });
});
