import { describe, expect, it } from "vitest";
import type { CallRequest } from "../../src/contract/call.js";
import { limits } from "../../src/contract/names.js";
import { createCallBook, type CallBook } from "../../src/workflows/session/call-book.js";
import { jsonBytes } from "../../src/workflows/session/json-size.js";
import { requestHash } from "../../src/workflows/session/request-hash.js";
import { callSummaries } from "../../src/workflows/session/views.js";

const call = (callId: string, command = "true"): CallRequest => ({
  callId,
  tool: "bash",
  input: { command },
});

const resultRef = { key: `sha256/aa/${"a".repeat(64)}`, sha256: "a".repeat(64), sizeBytes: 1 };

function done(book: CallBook, callId: string, result?: Record<string, unknown>, isStored = false): void {
  const accepted = book.accept(call(callId), 1);
  if (accepted.kind === "refused") throw new Error(accepted.failure.message);
  book.markRunning(accepted.record, 1, 2);
  book.finish(accepted.record, {
    outcome: { kind: "exited", exitCode: 0 },
    startedAtMs: 2,
    endedAtMs: 3,
    ...(result === undefined ? {} : { result }),
    ...(isStored ? { resultRef } : {}),
  });
}

describe("B83 [temporal-dedup] call book", () => {
  it("knows a request again whatever the order of its keys, and whatever null means", () => {
    const book = createCallBook();
    const first = { callId: "a", tool: "bash", input: { command: "x", cwd: "y" } } as const;
    const again = { callId: "a", tool: "bash", input: { cwd: "y", command: "x", env: null } } as const;
    expect(book.accept(first, 1).kind).toBe("new");
    expect(book.accept(again, 2).kind).toBe("known");
    expect(book.queued()).toHaveLength(1);
  });

  it("refuses another request under a known id, also when the call is done", () => {
    const book = createCallBook();
    done(book, "a");
    for (const other of [call("a", "false"), { ...call("a"), timeoutMs: 5 }]) {
      expect(book.accept(other, 1)).toMatchObject({ kind: "refused", failure: { code: "conflict" } });
    }
    expect(book.accept(call("a"), 1).kind).toBe("known");
  });

  it("gives the same after it was carried to another run", () => {
    const book = createCallBook();
    done(book, "a", { stdout: "x" });
    book.accept(call("b"), 1);
    const carried = JSON.parse(JSON.stringify(book.carry())) as ReturnType<CallBook["carry"]>;
    const next = createCallBook(carried);
    expect(next.accept(call("a"), 9)).toMatchObject({ kind: "known", record: { result: { stdout: "x" } } });
    expect(next.accept(call("a", "other"), 9).kind).toBe("refused");
    expect(next.queued().map((record) => record.callId)).toEqual(["b"]);
    expect([next.doneCount(), next.toolCounts()]).toEqual([1, { bash: 2 }]);
  });
});

describe("limits of the call book", () => {
  it("queues 500 calls and refuses the next as busy, then takes one again", () => {
    const book = createCallBook();
    for (let index = 0; index < limits.queuedCalls; index += 1) {
      expect(book.accept(call(`c${index}`), 1).kind).toBe("new");
    }
    expect(book.accept(call("more"), 1)).toMatchObject({ kind: "refused", failure: { code: "busy" } });
    expect(book.get("more")).toBeUndefined();
    const first = book.queued()[0];
    if (first === undefined) throw new Error("nothing queued");
    book.markRunning(first, 1, 1);
    expect(book.accept(call("more"), 1).kind).toBe("new");
    expect(book.queued()[0]?.callId).toBe("c1");
  });

  it("counts queued input by its encoding", () => {
    const book = createCallBook();
    const nuls = "\0".repeat(5_000);
    let accepted = 0;
    while (book.accept(call(`c${accepted}`, nuls), 1).kind === "new") accepted += 1;
    expect(accepted).toBe(Math.floor(limits.queuedInputBytes / jsonBytes({ command: nuls })));
  });

  it("remembers the last 1,000 calls that are done, and never forgets one that waits", () => {
    const book = createCallBook();
    book.accept(call("waits"), 1);
    for (let index = 0; index < limits.rememberedCalls + 5; index += 1) done(book, `c${index}`);
    expect(book.get("waits")?.status).toBe("queued");
    expect(book.get("c5")).toBeUndefined();
    expect(book.get("c6")).toBeDefined();
    expect(book.doneCount()).toBe(limits.rememberedCalls + 5);
  });

  it("drops inline answers beyond the budget, oldest first, but none that is awaited", () => {
    const book = createCallBook();
    const result = { stdout: "x".repeat(100_000) };
    for (const callId of ["a", "b", "c", "d"]) done(book, callId, result, true);
    book.trim((callId) => callId === "a");
    const kept = ["a", "b", "c", "d"].filter((callId) => book.get(callId)?.result !== undefined);
    expect(kept).toEqual(["a", "d"]);
    book.trim(() => false);
    expect(book.get("d")?.result).toBeDefined();
  });

  it("never drops a result that is nowhere else", () => {
    const book = createCallBook();
    for (let index = 0; index < 1_000; index += 1) done(book, `c${index}`, { stdout: "z".repeat(400) });
    done(book, "stored", { stdout: "z".repeat(1_000) }, true);
    book.trim(() => false);
    expect(book.get("c1")?.result).toBeDefined();
    expect(book.get("stored")).toMatchObject({ resultRef });
    expect(book.get("stored")?.result).toBeUndefined();
  });

  it("keeps the answer of a long call that ends after 1,000 others", () => {
    const book = createCallBook();
    const long = book.accept(call("long"), 0);
    if (long.kind === "refused") throw new Error("refused");
    book.markRunning(long.record, 1, 0);
    for (let index = 0; index < limits.rememberedCalls; index += 1) done(book, `c${index}`);
    book.accept(call("waits"), 1);
    book.finish(long.record, {
      outcome: { kind: "exited", exitCode: 0 },
      result: { stdout: "45 minutes" },
      startedAtMs: 1,
      endedAtMs: 2,
    });
    expect(book.get("long")?.result).toEqual({ stdout: "45 minutes" });
    expect(book.get("c0")).toBeUndefined();
  });

  it("answers `calls` within 256 KB, newest first", () => {
    const book = createCallBook();
    for (let index = 0; index < 1_000; index += 1) done(book, `${index}`.padStart(200, "é"));
    const summaries = callSummaries(book);
    expect(summaries[0]?.callId).toMatch(/999$/);
    expect(jsonBytes(summaries)).toBeLessThanOrEqual(limits.queryBytes);
    expect(summaries.length).toBeGreaterThan(400);
  });
});

describe("encodings", () => {
  it.each(["ascii", "\0", "é", "☕", "😀", '"\\\n', "\ud800"])("counts %j as Node does", (text) => {
    expect(jsonBytes({ text })).toBe(Buffer.byteLength(JSON.stringify({ text })));
  });

  it("gives different hashes to requests that differ in one character or in place", () => {
    const hashes = new Set<string>();
    for (let index = 0; index < 2_000; index += 1) {
      hashes.add(requestHash(call("x", `echo ${index}`)));
      hashes.add(requestHash(call("x", `${" ".repeat(index)}.`)));
    }
    expect(hashes.size).toBe(4_000);
  });
});
