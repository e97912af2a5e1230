import { afterAll, beforeAll, expect, it } from "vitest";
import type { Answer } from "../../src/contract/call.js";
import { createToolCalls } from "../../src/client/tool-calls.js";
import type { Session } from "../../src/client/index.js";
import { createSessionHost, type SessionHost } from "../support/session-host.js";

let host: SessionHost;
let session: Session;
beforeAll(async () => {
  host = await createSessionHost("client-tools");
  await host.startWorker();
  session = await host.client.sessions.start({ provider: "just-bash" });
});
afterAll(async () => {
  await session.delete({ wait: true });
  await host.stop();
});

it("every tool is a method, with the tool's own input and result", async () => {
  expect((await session.write({ path: "src/a.txt", content: "one\ntwo\n" })).result?.created).toBe(true);
  const edits = [{ oldText: "two", newText: "three" }];
  expect((await session.edit({ path: "src/a.txt", edits })).result?.replacements).toBe(1);
  expect((await session.read("src/a.txt")).result?.content.text).toBe("one\nthree\n");
  expect((await session.ls("src")).result?.entries.map(({ name }) => name)).toEqual(["a.txt"]);
  expect((await session.find("**/*.txt")).result?.paths).toEqual(["src/a.txt"]);
  expect((await session.glob({ pattern: "src/*" })).result?.paths).toEqual(["src/a.txt"]);
  expect((await session.grep("thr", { callId: "grep" })).result?.matches).toMatchObject([
    { path: "src/a.txt", line: 2, text: "three" },
  ]);
  expect((await session.getCall("grep"))?.tool).toBe("grep");
});

it("says that it has no artifact store when a result is in one, and what to do", async () => {
  const answer: Answer = {
    sessionId: "s",
    callId: "c1",
    tool: "bash",
    status: "done",
    outcome: { kind: "exited", exitCode: 0 },
    result: { ref: { key: "sha256/aa", sha256: "a".repeat(64), sizeBytes: 9 } },
    queuedAt: new Date(0).toISOString(),
  };
  const tools = createToolCalls(() => Promise.resolve(answer));
  await expect(tools.bash("true")).rejects.toMatchObject({
    code: "unsupported",
    message: expect.stringContaining("c1") as string,
    hint: expect.stringContaining("`artifacts`") as string,
  });
});
