import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { limits } from "../../src/contract/names.js";
import type { DirectoryEntry } from "../../src/providers/channel.js";
import { ProviderError } from "../../src/providers/errors.js";
import { memoryHandle } from "../support/memory-channel.js";
import { createMemoryWorker, type MemoryWorker } from "../support/memory-worker.js";
import { fail, putFile, succeed } from "./on-memory.js";

let worker: MemoryWorker;
beforeEach(async () => {
  worker = await createMemoryWorker();
});
afterEach(async () => {
  await worker[Symbol.asyncDispose]();
});

const directory = (name: string | Uint8Array, type: DirectoryEntry["type"] = "dir"): DirectoryEntry => ({
  name: Buffer.from(name as string),
  type,
  sizeBytes: 1,
});
const put = (path: string, content: string | Uint8Array) => {
  putFile(worker, `/workspace/${path}`, content);
};
const below = (path: string, ...entries: DirectoryEntry[]) => {
  worker.sandbox.rawEntries.set(path, entries);
};
const grep = (input: Record<string, unknown>) => succeed(worker, "grep", input);
const hits = async (input: Record<string, unknown>) =>
  (await grep(input)).matches.map(({ path, line, text }) => `${path}:${line}:${text}`);

describe("grep", () => {
  it("finds lines below the workspace, in order, with their numbers", async () => {
    put("b.txt", "needle\nhay\nneedle again");
    put("a.txt", "hay\nthe needle\n");
    put("none.txt", "");
    expect(await grep({ pattern: "needle" })).toEqual({
      matches: [
        { path: "a.txt", line: 2, text: "the needle" },
        { path: "b.txt", line: 1, text: "needle" },
        { path: "b.txt", line: 3, text: "needle again" },
      ],
      truncated: false,
      warnings: [],
    });
  });

  it("returns nothing, and no failure, where nothing matches", async () => {
    put("a", "x");
    expect(await grep({ pattern: "y" })).toEqual({ matches: [], truncated: false, warnings: [] });
  });

  it("takes regular expressions, literal text, and no notice of case", async () => {
    put("a", "foo(1)\nFOO\nfo+\nbar\nCAFÉ\n");
    expect(await hits({ pattern: "^fo+\\(\\d\\)$" })).toEqual(["a:1:foo(1)"]);
    expect(await hits({ pattern: "fo+", literal: true })).toEqual(["a:3:fo+"]);
    expect(await hits({ pattern: "FO+", literal: true, ignoreCase: true })).toEqual(["a:3:fo+"]);
    expect(await hits({ pattern: "foo|café", ignoreCase: true })).toEqual([
      "a:1:foo(1)",
      "a:2:FOO",
      "a:5:CAFÉ",
    ]);
    expect(await hits({ pattern: "-e" })).toEqual([]);
    expect(await hits({ pattern: "$&", literal: true })).toEqual([]);
  });

  it.each(["(", "[a", "a\nb", "(?=x)", "\\1", "*"])(
    "refuses the pattern %j with its reason",
    async (pattern) => {
      const failure = await fail(worker, "grep", { pattern });
      expect(failure).toMatchObject({ code: "invalid-request", field: "input.pattern" });
      expect(failure.message.length).toBeGreaterThan("input.pattern: ".length + 10);
    },
  );

  it("B65 [justbash-loop] takes linear time for a pattern that makes others backtrack", async () => {
    put("a", `${"a".repeat(5000)}b\n`.repeat(20));
    const startedAt = performance.now();
    expect(await hits({ pattern: "^(a+)+$" })).toEqual([]);
    expect(performance.now() - startedAt).toBeLessThan(5000);
  });

  it("B48 [file-argmax] takes a literal pattern of 140 KB, and refuses such an expression", async () => {
    const long = "x".repeat(140_000);
    put("a", `${long}\n`);
    expect((await grep({ pattern: long, literal: true })).matches).toHaveLength(1);
    expect(await fail(worker, "grep", { pattern: long })).toMatchObject({ code: "too-large" });
  });

  it("shows lines around a match", async () => {
    put("a", "1\n2\n3\n4\n5\n");
    expect((await grep({ pattern: "2|5", context: 2 })).matches).toEqual([
      { path: "a", line: 2, text: "2", before: ["1"], after: ["3", "4"] },
      { path: "a", line: 5, text: "5", before: ["3", "4"], after: [] },
    ]);
  });

  it("B58 [grep-bytes] survives files that are not UTF-8, and leaves binary ones out", async () => {
    put("ok.txt", "needle\n");
    put("gbk.c", Buffer.concat([Buffer.from("// needle "), Buffer.of(0xd6, 0xd0, 0x0a)]));
    put("late-nul", Buffer.concat([Buffer.from("needle\n"), Buffer.alloc(100_000, "x"), Buffer.of(0)]));
    put("far-nul", Buffer.concat([Buffer.from("needle\n"), Buffer.alloc(600_000, "x"), Buffer.of(0)]));
    put("utf16", Buffer.from("\ufeffneedle\n", "utf16le"));
    below("/workspace", directory(Buffer.of(0x6e, 0xff), "file"));
    const { matches, warnings } = await grep({ pattern: "needle" });
    expect(matches.map(({ path, text }) => `${path}:${text}`)).toEqual([
      "gbk.c:// needle \ufffd\ufffd",
      "ok.txt:needle",
    ]);
    expect(warnings.sort()).toEqual([
      "gbk.c is not UTF-8: its text is shown with U+FFFD",
      "n\\xff has a name that is not UTF-8: not searched",
    ]);
  });

  it("selects files by name, by path, or leaves some out; never looks into .git; includes hidden ones", async () => {
    below("/workspace", directory("src"), directory(".git"), directory("link", "link"));
    below("/workspace/src", directory(".git"));
    for (const path of ["a.ts", ".hidden.ts", "src/b.ts", "src/c.js", ".git/x.ts", "src/.git/y.ts"]) {
      put(path, "needle");
    }
    const files = async (glob?: string) =>
      (await grep({ pattern: "needle", filesOnly: true, ...(glob === undefined ? {} : { glob }) })).files;
    expect(await files()).toEqual([".hidden.ts", "a.ts", "src/b.ts", "src/c.js"]);
    expect(await files("*.ts")).toEqual([".hidden.ts", "a.ts", "src/b.ts"]);
    expect(await files("src/*.ts")).toEqual(["src/b.ts"]);
    expect(await files("!*.ts")).toEqual(["src/c.js"]);
    expect(await fail(worker, "grep", { pattern: "x", glob: "[a" })).toMatchObject({ field: "input.glob" });
  });

  it("searches a single file, and uploads, but nothing outside", async () => {
    put("a", "needle");
    put("b", "needle");
    putFile(worker, "/mnt/session/uploads/data", "needle");
    expect(await hits({ pattern: "needle", path: "b" })).toEqual(["b:1:needle"]);
    expect(await hits({ pattern: "needle", path: "/mnt/session/uploads" })).toEqual([
      "/mnt/session/uploads/data:1:needle",
    ]);
    for (const path of ["/etc", "/mnt/session/outputs", "../x"]) {
      expect(await fail(worker, "grep", { pattern: "x", path })).toMatchObject({ code: "denied" });
    }
  });

  it("stops at the limit and says so, of matches and of files", async () => {
    for (let index = 0; index < 5; index += 1) put(`f${index}`, "needle\nneedle\n");
    const few = await grep({ pattern: "needle", limit: 3 });
    expect([few.matches.length, few.truncated]).toEqual([3, true]);
    expect((await grep({ pattern: "needle", limit: 10 })).truncated).toBe(false);
    expect((await grep({ pattern: "needle", limit: 9 })).truncated).toBe(true);
    const files = await grep({ pattern: "needle", filesOnly: true, limit: 5 });
    expect([files.files?.length, files.truncated, files.matches]).toEqual([5, false, []]);
    expect(await grep({ pattern: "needle", filesOnly: true, limit: 4 })).toMatchObject({
      files: ["f0", "f1", "f2", "f3"],
      truncated: true,
    });
    expect((await grep({ pattern: "n" })).matches).toHaveLength(10);
  });

  it("cuts long lines, and keeps the answer within its budget", async () => {
    put("long", `${"x".repeat(1_999)}🎉needle\n`);
    const { matches } = await grep({ pattern: "needle" });
    expect(matches[0]?.text).toBe(`${"x".repeat(1_999)} [... line cut ...]`);
    put("long", `needle${"\u0001".repeat(3000)}\n`.repeat(300));
    const many = await grep({ pattern: "needle", limit: 1000 });
    expect(many.truncated).toBe(true);
    expect(many.matches.length).toBeGreaterThan(3);
    expect(Buffer.byteLength(JSON.stringify(many))).toBeLessThan(limits.answerBytes);
  });

  it("has hits and a warning when some files can't be read or are too large", async () => {
    put("ok", "needle");
    put("secret", "needle");
    put("huge", Buffer.alloc(17 * 1024 * 1024, "needle\n"));
    const signal = new AbortController().signal;
    const lease = await worker.deps.pool.acquire(memoryHandle(), { signal });
    const { files } = lease.channel;
    Object.defineProperty(lease.channel, "files", {
      value: {
        ...files,
        read: (path: string, range: { offset: number; lengthBytes: number }) =>
          path.endsWith("secret")
            ? Promise.reject(new ProviderError("denied", "permission denied"))
            : files.read(path, range),
      },
    });
    const { matches, warnings } = await grep({ pattern: "needle" });
    expect(matches).toEqual([{ path: "ok", line: 1, text: "needle" }]);
    expect(warnings.sort()).toEqual([
      "huge has more than 16777216 bytes: not searched",
      "secret may not be read: not searched",
    ]);
    lease.release();
  });
});
