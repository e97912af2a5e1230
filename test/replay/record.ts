/**
 * Records histories of sessions of each kind, for releases to come: `npx tsx test/replay/record.ts KIND...`.
 * A history that is there already is never recorded again: it is what workers of that release left behind.
 */
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Client, Connection } from "@temporalio/client";
import proto from "@temporalio/proto";
import { DefaultLogger, Runtime } from "@temporalio/worker";
import { createHoldfastClient } from "../../src/client/holdfast-client.js";
import type { Session } from "../../src/client/session.js";
import { loadConfig } from "../../src/config.js";
import { startDevServer } from "../../src/dev-server/index.js";
import { createFakeProvider, type FakeProvider } from "../../src/providers/fake/provider.js";
import { createJustBashProvider } from "../../src/providers/just-bash/provider.js";
import { createHoldfastWorker } from "../../src/worker.js";
import { until } from "../support/until.js";

const { History } = proto.temporal.api.history.v1;

const kinds = [
  "idle",
  "mid-call",
  "stopped",
  "resumed",
  "rolled-over",
  "lost",
  "recreated",
  "deleted",
  "cancelled",
  "failed",
  "busy",
];
const directory = fileURLToPath(new URL("./histories/", import.meta.url));
const wanted = process.argv.slice(2);
const missing = (wanted.length === 0 ? kinds : wanted).filter(
  (kind) => !existsSync(join(directory, `${kind}.binpb`)),
);

Runtime.install({ logger: new DefaultLogger("ERROR") });
const server = await startDevServer({ onProgress: () => undefined });
const stateDir = await mkdtemp(join(tmpdir(), "holdfast-record-"));
const config = loadConfig({
  env: {
    PATH: process.env.PATH,
    HOME: stateDir,
    TEMPORAL_ADDRESS: server.address,
    HOLDFAST_STATE_DIR: stateDir,
    HOLDFAST_HOST_ID: "replay-host",
  },
});
let fake: FakeProvider | undefined;
const threadEntry = new URL("../../dist/providers/just-bash/thread.js", import.meta.url);
const worker = await createHoldfastWorker(config, {
  rollOver: { historyEvents: 60 },
  workerOptions: { identity: "replay" },
  async providers(host) {
    fake = createFakeProvider({ hostId: host.hostId });
    return [await createJustBashProvider({ ...host, threadEntry }), fake];
  },
});
const run = worker.run();
const connection = await Connection.connect({ address: server.address });
const client = createHoldfastClient({ connection, artifacts: config.artifactsDir });
const temporal = new Client({ connection });

const bash = (session: Session, command: string, callId: string) =>
  session.call({ callId, tool: "bash", input: { command } });
const start = (kind: string, spec = {}) =>
  client.sessions.start({ provider: "just-bash", ...spec }, { sessionId: `replay-${kind}` });

/** Brings a session into the state that its history is to show; an open one stays open. */
const stories: Record<string, (kind: string) => Promise<void>> = {
  async idle(kind) {
    const session = await start(kind);
    await bash(session, "echo a", "a");
    await session.write({ path: "f", content: "x" }, { callId: "w" });
  },
  async "mid-call"(kind) {
    const session = await start(kind);
    await bash(session, "echo a", "a");
    void bash(session, "sleep 600", "long").catch(() => undefined);
    await until(async () => (await session.state()).calls.running === 1);
    await sleep(1_000);
  },
  async stopped(kind) {
    const session = await start(kind, { timeouts: { idleMs: 1_000 } });
    await bash(session, "echo a", "a");
    await until(async () => (await session.state()).status === "stopped");
  },
  async resumed(kind) {
    const session = await start(kind);
    await bash(session, "echo a", "a");
    await session.stop({ wait: true });
    await bash(session, "echo b", "b");
    await session.extend({ idleMs: 3_600_000 });
  },
  async "rolled-over"(kind) {
    const session = await start(kind);
    const long = bash(session, "sleep 8; echo end", "long");
    for (let index = 0; index < 30; index += 1) await bash(session, `echo ${index}`, `c${index}`);
    await long;
  },
  async lost(kind) {
    const session = await start(kind, { provider: "fake" });
    await bash(session, "echo a", "a");
    fake?.vanish(await session.state());
    await bash(session, "echo b", "b");
    await session.result().catch(() => undefined);
  },
  async recreated(kind) {
    const session = await start(kind, { provider: "fake", onLost: "recreate" });
    await bash(session, "echo a", "a");
    fake?.vanish(await session.state());
    for (let index = 0; index < 3; index += 1) await bash(session, "echo b", `b${index}`);
    await session.setNetworkPolicy("allow-all");
    await until(async () => (await session.state()).network === "allow-all");
  },
  async deleted(kind) {
    const session = await start(kind);
    await bash(session, "echo a", "a");
    const long = bash(session, "sleep 600", "long");
    await until(async () => (await session.state()).calls.running === 1);
    await session.delete({ wait: true });
    await long;
  },
  async cancelled(kind) {
    const session = await start(kind);
    await bash(session, "echo a", "a");
    await temporal.workflow.getHandle(session.sessionId).cancel();
    await session.result().catch(() => undefined);
  },
  async failed(kind) {
    const env = { FAKE_START_FAIL: "template-failed" };
    const session = await start(kind, { provider: "fake", template: { env } });
    await session.result().catch(() => undefined);
  },
  async busy(kind) {
    const session = await start(kind, { maxConcurrentCalls: 3 });
    const replyTo = { workflowId: "nobody", signal: "answer" };
    const handle = temporal.workflow.getHandle(session.sessionId);
    for (let index = 0; index < 6; index += 1) {
      const input = { command: index % 2 === 0 ? "sleep 1; echo x" : "echo y" };
      await handle.signal("callTool", { callId: `c${index}`, tool: "bash", input, replyTo });
    }
    await handle.signal("callTool", { callId: 7 });
    await handle.signal("cancelCall", { callId: "c4" });
    await handle.signal("stop", {});
    await until(async () => (await session.state()).calls.done === 6);
  },
};

/** Stacks name the directories of whoever recorded, and mean nothing to a replay. */
function withoutStacks<T>(value: T): T {
  if (typeof value !== "object" || value === null) return value;
  for (const [key, entry] of Object.entries(value)) {
    if (key === "stackTrace") Reflect.set(value, key, "");
    else withoutStacks(entry);
  }
  return value;
}

try {
  for (const kind of missing) {
    const story = stories[kind];
    if (story === undefined) throw new Error(`unknown kind ${kind}; known are ${kinds.join(", ")}`);
    await story(kind);
    const runIds: string[] = [];
    const first = await temporal.workflow.getHandle(`replay-${kind}`).describe();
    let next: string | undefined = first.raw.workflowExecutionInfo?.firstRunId ?? first.runId;
    while (next !== undefined && next !== "") {
      runIds.push(next);
      const history: proto.temporal.api.history.v1.IHistory = await temporal.workflow
        .getHandle(`replay-${kind}`, next)
        .fetchHistory();
      const name = runIds.length === 1 ? kind : `${kind}-${runIds.length}`;
      await writeFile(join(directory, `${name}.binpb`), History.encode(withoutStacks(history)).finish());
      process.stdout.write(`${name}: ${history.events?.length ?? 0} events\n`);
      const last = history.events?.at(-1)?.workflowExecutionContinuedAsNewEventAttributes;
      next = last?.newExecutionRunId ?? undefined;
    }
  }
} finally {
  worker.shutdown();
  await run;
  await client.close();
  await connection.close();
  await server.stop();
  await rm(stateDir, { recursive: true, force: true });
}
