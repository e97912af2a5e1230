import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Handle } from "../../../src/contract/sandbox.js";
import { resolveSpec } from "../../../src/contract/spec.js";
import type { Channel, RunRequest } from "../../../src/providers/channel.js";
import type { Provider } from "../../../src/providers/provider.js";
import { context, follow, readText, request, run } from "../subject.js";
import { createProvider } from "./create-provider.js";

const spec = resolveSpec({ provider: "just-bash" });
const session = { sessionId: "s1", runId: "r1" };

describe("just-bash with several workers on one host", () => {
  let stateDir: string;
  let provider: Provider;
  let handle: Handle;
  let channel: Channel;

  beforeEach(async () => {
    stateDir = await mkdtemp(join(tmpdir(), "holdfast-workers-"));
    provider = await createProvider(stateDir);
    await provider.prepare(spec, context());
    handle = await provider.start({ session, generation: 1, spec }, context());
    channel = await provider.connect(handle, context());
  });

  afterEach(async () => {
    await provider.close();
    await rm(stateDir, { recursive: true, force: true });
  });

  it("answers `lost`, for good, for what a killed worker was running; the session is intact", async () => {
    const call = request("echo x >> log.txt; sleep 60");
    const other = await startElsewhere(call);
    expect((await channel.run(call)).state).toBe("attached");
    expect(await channel.calls()).toEqual([{ callId: call.callId, state: "running" }]);
    const following = follow(channel, call.callId);
    await appears("/workspace/log.txt");
    other.kill();
    const { end } = await following;
    expect(end.outcome).toMatchObject({ kind: "lost", reason: expect.stringContaining("died") as string });
    // Durable: a third worker says the same, and nothing starts again.
    const third = await createProvider(stateDir);
    const again = await run(await third.connect(handle, context()), call);
    expect(again).toMatchObject({ state: "attached", end });
    await third.close();
    expect(await readText(channel, "/workspace/log.txt")).toBe("x\n");
    expect((await run(channel, "echo fine")).stdout.toString()).toBe("fine\n");
  });

  it("follows a command that another worker runs, to its real end", async () => {
    const call = request("echo from elsewhere; sleep 1; exit 5");
    const other = await startElsewhere(call);
    const { end, stdout } = await follow(channel, call.callId);
    expect(end.outcome).toEqual({ kind: "exited", exitCode: 5 });
    expect(stdout.toString()).toBe("from elsewhere\n");
    other.kill();
  });

  it("kills a command that another worker runs, with what it printed", async () => {
    const call = request("echo early; touch started.txt; sleep 60");
    const other = await startElsewhere(call);
    await appears("/workspace/started.txt");
    const startedAtMs = Date.now();
    await channel.kill(call.callId, { graceMs: 2000, cause: "stop" });
    expect(Date.now() - startedAtMs).toBeLessThan(20_000);
    const { end, stdout } = await follow(channel, call.callId);
    expect(end.outcome).toEqual({ kind: "cancelled", by: "stop" });
    expect(stdout.toString()).toBe("early\n");
    expect(other.running()).toBe(true);
    other.kill();
  });

  it("starts a call once when two workers are asked for it at once", async () => {
    const second = await createProvider(stateDir);
    const there = await second.connect(handle, context());
    for (let round = 0; round < 10; round++) {
      const call = request("echo x >> count.txt");
      const states = await Promise.all([channel, there, channel, there].map((one) => one.run(call)));
      expect(states.filter(({ state }) => state === "started")).toHaveLength(1);
      await follow(there, call.callId);
    }
    expect(await readText(channel, "/workspace/count.txt")).toBe("x\n".repeat(10));
    await second.close();
  });

  it("says `lost` for what runs when a worker shuts down, and closes without waiting for it", async () => {
    const second = await createProvider(stateDir);
    const call = request("while :; do :; done");
    const there = await second.connect(handle, context());
    await there.run(call);
    await second.close();
    const late = request("echo late");
    await expect(there.run(late)).rejects.toMatchObject({ code: "unavailable" });
    // Its id was not used up.
    expect((await run(channel, late)).stdout.toString()).toBe("late\n");
    const { end } = await follow(channel, call.callId);
    expect(end.outcome).toMatchObject({
      kind: "lost",
      reason: expect.stringContaining("shut down") as string,
    });
  });

  /** A claim is made before the command does anything. */
  async function appears(path: string): Promise<void> {
    await vi.waitUntil(() => channel.files.stat(path), { timeout: 30_000, interval: 50 });
  }

  async function startElsewhere(call: RunRequest) {
    const script = new URL("worker-process.mjs", import.meta.url).pathname;
    const other = execa("node", [script, JSON.stringify({ stateDir, handle, request: call })], {
      reject: false,
      buffer: false,
    });
    await new Promise<void>((resolve, reject) => {
      other.stdout.once("data", () => {
        resolve();
      });
      other.once("exit", () => {
        reject(new Error("the other worker ended early"));
      });
    });
    // Not the process itself: it is a promise of its own end, and would be awaited.
    return { kill: () => other.kill("SIGKILL"), running: () => other.exitCode === null };
  }
});
