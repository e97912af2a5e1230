import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createLocalArtifactStore } from "../../src/artifacts/local-artifact-store.js";
import type { Handle } from "../../src/contract/sandbox.js";
import { resolveSpec } from "../../src/contract/spec.js";
import { toolSchemas, type ToolName, type ToolResult } from "../../src/contract/tools.js";
import { createChannelPool } from "../../src/exec/channel-pool.js";
import { performCall } from "../../src/exec/perform-call.js";
import type { CallDeps } from "../../src/exec/call-deps.js";
import { createJustBashProvider } from "../../src/providers/just-bash/provider.js";
import type { Provider } from "../../src/providers/provider.js";
import { createTools } from "../../src/tools/index.js";
import { dispatchOf } from "../support/dispatch.js";
import { unhurried } from "../support/memory-worker.js";

const context = { signal: new AbortController().signal, onProgress: () => undefined };
const threadEntry = new URL("../../dist/providers/just-bash/thread.js", import.meta.url);
let stateDir: string;
let provider: Provider;
let handle: Handle;
let deps: CallDeps;

beforeAll(async () => {
  stateDir = await mkdtemp(join(tmpdir(), "holdfast-tools-"));
  provider = await createJustBashProvider({ stateDir, hostId: "host-1", owner: "tests", threadEntry });
  const spec = resolveSpec({ provider: "just-bash" });
  const artifact = await provider.prepare(spec, context);
  const session = { sessionId: "tools", runId: "run-1" };
  handle = await provider.start({ session, generation: 1, spec, artifact }, context);
  deps = {
    pool: createChannelPool({
      hostId: "host-1",
      maxChannels: 4,
      connect: (to, operation) => provider.connect(to, operation),
    }),
    artifacts: createLocalArtifactStore({ directory: join(stateDir, "artifacts") }),
    secrets: () => Promise.resolve({ TOKEN: "s3cr3t" }),
    tools: createTools(),
  };
});
afterAll(async () => {
  await deps.pool.close();
  await provider.close();
  await rm(stateDir, { recursive: true, force: true });
});

let calls = 0;
const dispatch = (tool: ToolName, input: Record<string, unknown>, callId = `call-${(calls += 1)}`) =>
  dispatchOf(tool, input, { handle, call: { callId } });
const perform = (tool: ToolName, input: Record<string, unknown>, callId?: string) =>
  performCall(dispatch(tool, input, callId), deps, unhurried());
async function result<T extends ToolName>(tool: T, input: Record<string, unknown>): Promise<ToolResult<T>> {
  const ending = await perform(tool, input);
  if (ending.outcome.kind !== "ok" && ending.outcome.kind !== "exited")
    throw new Error(JSON.stringify(ending));
  return toolSchemas[tool].result.parse(ending.result) as ToolResult<T>;
}
const failure = async (tool: ToolName, input: Record<string, unknown>) => {
  const { outcome } = await perform(tool, input);
  return outcome.kind === "error" ? outcome.error : outcome;
};

describe("tools on just-bash", () => {
  it("runs a script with its streams, exit code, variables and secrets", async () => {
    const ending = await perform("bash", {
      command: 'echo "$OWN $TOKEN"; echo why >&2; exit 3',
      env: { OWN: "mine" },
    });
    expect(ending.outcome).toEqual({ kind: "exited", exitCode: 3 });
    expect(ending.result).toMatchObject({ stdout: { text: "mine s3cr3t\n" }, stderr: { text: "why\n" } });
  });

  it("starts each command in a fresh shell in the workspace", async () => {
    await result("bash", { command: "mkdir -p sub; cd sub; export X=1" });
    expect((await result("bash", { command: 'pwd; echo "[$X]"' })).stdout.text).toBe("/workspace\n[]\n");
    expect((await result("bash", { command: "pwd", cwd: "sub" })).stdout.text).toBe("/workspace/sub\n");
    expect(await failure("bash", { command: "pwd", cwd: "missing" })).toMatchObject({ code: "cannot-start" });
    expect(await failure("bash", { command: "pwd", cwd: "/etc" })).toMatchObject({ code: "denied" });
  });

  it("keeps head, tail and counts of long output, and all of it in the store", async () => {
    const { stdout } = await result("bash", {
      command: "for i in $(seq 1 9000); do echo line $i; done; echo TAILMARK",
    });
    expect(stdout.text.startsWith("line 1\nline 2\n")).toBe(true);
    expect(stdout.text.endsWith("line 9000\nTAILMARK\n")).toBe(true);
    expect(stdout.totalBytes).toBe(stdout.full?.sizeBytes);
    expect(stdout.omittedBytes).toBeGreaterThan(0);
    if (stdout.full === undefined) throw new Error("no reference");
    const full = Buffer.from(await deps.artifacts.read(stdout.full, { maxBytes: 1_000_000 })).toString();
    expect(full.split("\n").length).toBe(9002);
  });

  it("does a call once, however often it is asked", async () => {
    for (let times = 0; times < 3; times += 1) await perform("bash", { command: "echo x >> once" }, "once");
    expect((await result("read", { path: "once" })).content.text).toBe("x\n");
  });

  it("writes, reads, edits, and lists what commands see", async () => {
    expect(await result("write", { path: "deep/er/é.txt", content: "one\r\ntwo\r\n" })).toEqual({
      sizeBytes: 10,
      created: true,
    });
    await result("edit", { path: "deep/er/é.txt", edits: [{ oldText: "one\ntwo", newText: "$&\nzwei" }] });
    expect((await result("read", { path: "/workspace/deep/er/é.txt" })).content.text).toBe("$&\r\nzwei\r\n");
    expect((await result("bash", { command: "wc -c < deep/er/é.txt" })).stdout.text.trim()).toBe("10");
    const { entries } = await result("ls", { path: "deep/er" });
    expect(entries).toEqual([{ name: "é.txt", type: "file", sizeBytes: 10 }]);
    expect(await result("write", { path: "deep/er/é.txt", content: "" })).toMatchObject({ created: false });
  });

  it("writes bytes exactly", async () => {
    const bytes = Buffer.from(Array.from({ length: 256 }, (_, index) => index));
    await result("write", { path: "bytes", content: bytes.toString("base64"), encoding: "base64" });
    const { content } = await result("read", { path: "bytes" });
    expect(content).toMatchObject({ encoding: "base64", text: bytes.toString("base64") });
  });

  it("B45 [file-names] lists odd names exactly, and each reads back", async () => {
    const names = ["a\nb", " lead", "trail ", "-rf", "t\tab", "*", "[id]", "q'uote", "$(id)", "é", "e\u0301"];
    for (const name of names) await result("write", { path: `odd/${name}`, content: name });
    const { entries } = await result("ls", { path: "odd" });
    expect(entries.map(({ name }) => name).sort()).toEqual([...names].sort());
    for (const { name } of entries) {
      expect((await result("read", { path: `odd/${name}` })).content.text).toBe(name);
    }
    expect((await result("glob", { pattern: "odd/*" })).paths.sort()).toEqual(
      names.map((name) => `odd/${name}`).sort(),
    );
  });

  it("B46 [file-symlink] never leaves the sandbox by path or link", async () => {
    await result("bash", { command: "ln -s /etc/passwd leak; ln -s / d; true" });
    for (const path of ["../x", "a/../../x", "/workspace/../etc/passwd", "/workspace2/x"]) {
      expect(await failure("read", { path })).toMatchObject({ code: "denied" });
      expect(await failure("write", { path, content: "x" })).toMatchObject({ code: "denied" });
    }
    for (const path of ["leak", "d/etc/passwd", "d/tmp/new"]) {
      expect(["denied", "not-found"]).toContain(
        ((await failure("read", { path })) as { code?: string }).code,
      );
      expect(["denied", "not-found"]).toContain(
        ((await failure("write", { path, content: "x" })) as { code?: string }).code,
      );
    }
    expect(await readFile("/etc/passwd", "utf8")).not.toBe("x");
  });

  it("finds files below directories, and prunes", async () => {
    await result("bash", {
      command: "mkdir -p p/src p/node_modules/x; touch p/src/a.ts p/node_modules/x/b.ts",
    });
    expect(await result("find", { pattern: "**/*.ts", path: "p", ignore: ["**/node_modules/**"] })).toEqual({
      paths: ["p/src/a.ts"],
      truncated: false,
    });
  });

  it("B63 [justbash-grep] greps what commands wrote, with every option", async () => {
    await result("bash", {
      command: "mkdir -p g/sub; printf 'Q1\\nQ2\\nq4\\n' > g/a.txt; echo Q4 > g/sub/b.md",
    });
    const grep = (input: Record<string, unknown>) => result("grep", { path: "g", ...input });
    expect(await grep({ pattern: "Q1|Q4" })).toEqual({
      matches: [
        { path: "g/a.txt", line: 1, text: "Q1" },
        { path: "g/sub/b.md", line: 1, text: "Q4" },
      ],
      truncated: false,
      warnings: [],
    });
    expect((await grep({ pattern: "q4", ignoreCase: true, filesOnly: true, literal: true })).files).toEqual([
      "g/a.txt",
      "g/sub/b.md",
    ]);
    expect((await grep({ pattern: "Q2", context: 1, glob: "*.txt", limit: 1 })).matches).toEqual([
      { path: "g/a.txt", line: 2, text: "Q2", before: ["Q1"], after: ["q4"] },
    ]);
  });

  it("says what is missing or no file", async () => {
    expect(await failure("read", { path: "nothing" })).toMatchObject({ code: "not-found" });
    expect(await failure("read", { path: "odd" })).toMatchObject({ code: "not-a-file" });
    expect(await failure("ls", { path: "nothing" })).toMatchObject({ code: "not-found" });
    expect(await failure("edit", { path: "nothing", edits: [{ oldText: "a", newText: "b" }] })).toMatchObject(
      {
        code: "not-found",
      },
    );
  });

  it("B08 [out-timeout] keeps what a command printed before its timeout", async () => {
    const ending = await perform("bash", {
      command: "echo partial; echo warn >&2; sleep 30",
      timeoutMs: 1000,
    });
    expect(ending.outcome).toEqual({ kind: "timed-out", timeoutMs: 1000 });
    expect(ending.result).toMatchObject({ stdout: { text: "partial\n" }, stderr: { text: "warn\n" } });
  });
});
