import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { limits } from "../../src/contract/names.js";
import type { DirectoryEntry } from "../../src/providers/channel.js";
import { createMemoryWorker, type MemoryWorker } from "../support/memory-worker.js";
import { fail, putFile, succeed } from "./on-memory.js";

let worker: MemoryWorker;
beforeEach(async () => {
  worker = await createMemoryWorker();
});
afterEach(async () => {
  await worker[Symbol.asyncDispose]();
});

const entry = (name: string | Uint8Array, type: DirectoryEntry["type"] = "file"): DirectoryEntry => ({
  name: Buffer.from(name as string),
  type,
  sizeBytes: 1,
});
/** Lays out directories by their entries' names; a name that ends in "/" is a directory. */
function tree(directories: Record<string, (string | DirectoryEntry)[]>): void {
  for (const [path, names] of Object.entries(directories)) {
    const entries = names.map((name) => {
      if (typeof name !== "string") return name;
      return name.endsWith("/") ? entry(name.slice(0, -1), "dir") : entry(name);
    });
    worker.sandbox.rawEntries.set(path, entries);
  }
}

describe("ls", () => {
  it("lists the workspace, sorted by bytes, with types and sizes", async () => {
    tree({ "/workspace": ["b", "a/", entry("l", "link"), entry("p", "other"), "B", ".hidden"] });
    const { entries, truncated } = await succeed(worker, "ls", {});
    expect(entries.map(({ name, type }) => `${name}:${type}`)).toEqual([
      ".hidden:file",
      "B:file",
      "a:dir",
      "b:file",
      "l:link",
      "p:other",
    ]);
    expect(entries[0]).toEqual({ name: ".hidden", type: "file", sizeBytes: 1 });
    expect(truncated).toBe(false);
  });

  it("B45 [file-names] tells each name exactly", async () => {
    const names = [
      "a\nb",
      " lead",
      "trail ",
      "-rf",
      "t\tab",
      "*",
      "[id]",
      "q'uote",
      "$(id)",
      "x".repeat(255),
    ];
    const forms = ["\u00e9", "e\u0301"];
    tree({ "/workspace": [...names, ...forms, "\ufffd"] });
    const { entries } = await succeed(worker, "ls", {});
    expect(entries.map(({ name }) => name).sort()).toEqual([...names, ...forms, "\ufffd"].sort());
    expect(entries.every(({ nameBase64 }) => nameBase64 === undefined)).toBe(true);
  });

  it("B45 [file-names] shows a name that is not UTF-8 escaped, with its bytes", async () => {
    const raw = Buffer.concat([Buffer.of(0xff, 0xfe), Buffer.from("é"), Buffer.of(0xc3)]);
    tree({ "/workspace": [entry(raw)] });
    const { entries } = await succeed(worker, "ls", {});
    expect(entries).toEqual([
      { name: "\\xff\\xfeé\\xc3", nameBase64: raw.toString("base64"), type: "file", sizeBytes: 1 },
    ]);
  });

  it("says that there is more, of 100, of a limit, and of the answer's budget", async () => {
    tree({ "/workspace": Array.from({ length: 1000 }, (_, index) => `${index}`.padStart(4, "0")) });
    const first = await succeed(worker, "ls", {});
    expect([first.entries.length, first.truncated, first.entries[99]?.name]).toEqual([100, true, "0099"]);
    expect(await succeed(worker, "ls", { limit: 1000 })).toMatchObject({ truncated: false });
    expect(await succeed(worker, "ls", { limit: 999 })).toMatchObject({ truncated: true });
    tree({ "/workspace": Array.from({ length: 900 }, (_, index) => `${index}${"\u0001".repeat(200)}`) });
    const large = await succeed(worker, "ls", { limit: 1000 });
    expect(large.truncated).toBe(true);
    expect(large.entries.length).toBeGreaterThan(10);
    expect(Buffer.byteLength(JSON.stringify(large))).toBeLessThan(limits.answerBytes);
  });

  it("denies what is outside", async () => {
    expect(await fail(worker, "ls", { path: ".." })).toMatchObject({ code: "denied", field: "input.path" });
  });
});

describe("find and glob", () => {
  beforeEach(() => {
    tree({
      "/workspace": ["src/", "node_modules/", "a.ts", ".hidden.ts", entry("link.ts", "link"), "[id].ts"],
      "/workspace/src": ["b.ts", "c.js", "deep/", "node_modules/"],
      "/workspace/src/deep": ["d.ts"],
      "/workspace/src/node_modules": ["e.ts"],
      "/workspace/node_modules": ["f.ts"],
    });
  });
  const find = async (input: Record<string, unknown>) => (await succeed(worker, "find", input)).paths;
  const glob = async (input: Record<string, unknown>) => (await succeed(worker, "glob", input)).paths;

  it("matches paths relative to where the search begins, and returns them relative to the workspace", async () => {
    expect(await glob({ pattern: "*.ts" })).toEqual([".hidden.ts", "[id].ts", "a.ts"]);
    expect(await glob({ pattern: "*.ts", path: "src" })).toEqual(["src/b.ts"]);
    expect(await glob({ pattern: "**/{b,d}.ts" })).toEqual(["src/b.ts", "src/deep/d.ts"]);
    expect(await glob({ pattern: "[!b-z.[]*.ts" })).toEqual(["a.ts"]);
    expect(await glob({ pattern: "\\[id\\].ts" })).toEqual(["[id].ts"]);
  });

  it("finds directories and links too; glob finds files only", async () => {
    expect(await find({ pattern: "{src,link.ts,a.ts}" })).toEqual(["a.ts", "link.ts", "src"]);
    expect(await glob({ pattern: "{src,link.ts,a.ts}" })).toEqual(["a.ts"]);
  });

  it("leaves out what is ignored, and does not walk it", async () => {
    const listed: string[] = [];
    const lease = await worker.deps.pool.acquire(
      { ...(await import("../support/memory-channel.js")).memoryHandle() },
      { signal: new AbortController().signal },
    );
    const { files } = lease.channel;
    Object.defineProperty(lease.channel, "files", {
      value: {
        ...files,
        list: (path: string, options: { maxEntries: number }) => {
          listed.push(path);
          return files.list(path, options);
        },
      },
    });
    expect(await find({ pattern: "**/*.ts", ignore: ["**/node_modules/**", "src/deep"] })).toEqual([
      ".hidden.ts",
      "[id].ts",
      "a.ts",
      "link.ts",
      "src/b.ts",
    ]);
    expect(listed).toEqual(["/workspace", "/workspace/src"]);
    lease.release();
  });

  it("stops at the limit and says so", async () => {
    expect(await succeed(worker, "find", { pattern: "**/*.ts", limit: 3 })).toMatchObject({
      truncated: true,
    });
    const all = await succeed(worker, "find", { pattern: "**/*.ts" });
    expect([all.paths.length, all.truncated]).toEqual([8, false]);
    expect((await succeed(worker, "find", { pattern: "**/*.ts", limit: 8 })).truncated).toBe(false);
  });

  it("says that it could not look everywhere", async () => {
    tree({ "/workspace": [entry(Buffer.of(0x61, 0xff), "dir"), "a.ts"] });
    expect(await succeed(worker, "find", { pattern: "**" })).toEqual({
      paths: ["a.ts", "a\\xff"],
      truncated: true,
    });
  });

  it.each(["[a", "{a,b"])("B63 [justbash-grep] refuses the bad glob %j", async (pattern) => {
    expect(await fail(worker, "glob", { pattern })).toMatchObject({
      code: "invalid-request",
      field: "input.pattern",
    });
    expect(await fail(worker, "find", { pattern: "*", ignore: ["x", pattern] })).toMatchObject({
      code: "invalid-request",
      field: "input.ignore.1",
    });
  });

  it("searches uploads by their own paths, and nothing outside", async () => {
    putFile(worker, "/mnt/session/uploads/data.csv", "1");
    expect(await glob({ pattern: "*", path: "/mnt/session/uploads" })).toEqual([
      "/mnt/session/uploads/data.csv",
    ]);
    expect(await fail(worker, "find", { pattern: "*", path: "/etc" })).toMatchObject({ code: "denied" });
  });
});
