import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, describe, expect, it, vi } from "vitest";
import { createChannelPool, type ChannelPool, type ChannelPoolOptions } from "../../src/exec/channel-pool.js";
import { ProviderError } from "../../src/providers/errors.js";
import { memoryHandle, MemorySandbox } from "../support/memory-channel.js";

const signal = new AbortController().signal;
let pool: ChannelPool | undefined;
afterEach(async () => {
  await pool?.close();
});

function createPool(sandbox: MemorySandbox, options: Partial<ChannelPoolOptions> = {}): ChannelPool {
  pool = createChannelPool({ hostId: "host-1", maxChannels: 3, connect: sandbox.connect, ...options });
  return pool;
}
const acquire = (sandboxId?: string) => (pool as ChannelPool).acquire(memoryHandle(sandboxId), { signal });

describe("channel pool", () => {
  it("opens one channel for many users of a sandbox", async () => {
    const sandbox = new MemorySandbox();
    createPool(sandbox);
    const leases = await Promise.all([acquire(), acquire(), acquire()]);
    expect(sandbox.channels).toHaveLength(1);
    expect(new Set(leases.map((lease) => lease.channel)).size).toBe(1);
  });

  it("keeps sandboxes and generations apart", async () => {
    const sandbox = new MemorySandbox();
    createPool(sandbox);
    await acquire();
    await acquire("sandbox-2");
    await (pool as ChannelPool).acquire(
      memoryHandle("sandbox-1", { generation: { number: 2, key: "key-2" } }),
      { signal },
    );
    expect(sandbox.channels).toHaveLength(3);
  });

  it("gives a channel up after the idle time, and never one in use", async () => {
    const sandbox = new MemorySandbox();
    createPool(sandbox, { idleMs: 60 });
    const used = await acquire();
    (await acquire("sandbox-2")).release();
    await vi.waitFor(() => {
      expect(sandbox.channels[1]?.closes).toBe(1);
    });
    await sleep(120);
    expect(used.channel.closed).toBe(false);
    used.release();
    await vi.waitFor(() => {
      expect(used.channel.closed).toBe(true);
    });
  });

  it("counts a lease once, however often it is released", async () => {
    const sandbox = new MemorySandbox();
    createPool(sandbox, { idleMs: 30 });
    const first = await acquire();
    const second = await acquire();
    first.release();
    first.release();
    await sleep(80);
    expect(second.channel.closed).toBe(false);
  });

  it("replaces a broken channel at its next use", async () => {
    const sandbox = new MemorySandbox();
    createPool(sandbox);
    const first = await acquire();
    sandbox.breakAll();
    expect((pool as ChannelPool).peek(memoryHandle())).toBeUndefined();
    const second = await acquire();
    expect(second.channel).not.toBe(first.channel);
    expect(second.channel.closed).toBe(false);
    first.release();
    expect((pool as ChannelPool).peek(memoryHandle())?.channel).toBe(second.channel);
  });

  it("at its cap closes the longest idle one, and says busy when none is idle", async () => {
    const sandbox = new MemorySandbox();
    createPool(sandbox, { maxChannels: 2 });
    (await acquire("a")).release();
    await sleep(5);
    (await acquire("b")).release();
    const third = await acquire("c");
    expect(sandbox.channels.map((channel) => channel.closes)).toEqual([1, 0, 0]);
    const again = await acquire("b");
    await expect(acquire("d")).rejects.toMatchObject({ code: "busy" });
    again.release();
    await expect(acquire("d")).resolves.toBeDefined();
    expect(third.channel.closed).toBe(false);
  });

  it("does not count broken channels against the cap", async () => {
    const sandbox = new MemorySandbox();
    createPool(sandbox, { maxChannels: 1 });
    await acquire("a");
    sandbox.breakAll();
    await expect(acquire("b")).resolves.toBeDefined();
  });

  it("tells a failed connect to all who wait, and tries again at the next use", async () => {
    const sandbox = new MemorySandbox();
    sandbox.connectErrors.push(new ProviderError("session-lost", "gone"));
    createPool(sandbox);
    const results = await Promise.allSettled([acquire(), acquire()]);
    expect(results.map((result) => result.status)).toEqual(["rejected", "rejected"]);
    await expect(acquire()).resolves.toBeDefined();
  });

  it("peeks only at what is open; warming opens it in the background", async () => {
    const sandbox = new MemorySandbox();
    const warmed = createPool(sandbox, { idleMs: 60 });
    expect(warmed.peek(memoryHandle())).toBeUndefined();
    warmed.warm(memoryHandle());
    warmed.warm(memoryHandle());
    const lease = await vi.waitUntil(() => warmed.peek(memoryHandle()));
    expect(sandbox.channels).toHaveLength(1);
    await sleep(120);
    expect(lease.channel.closed).toBe(false);
    lease.release();
    await vi.waitFor(() => {
      expect(lease.channel.closed).toBe(true);
    });
  });

  it("gives a warm channel up that nobody used", async () => {
    const sandbox = new MemorySandbox();
    createPool(sandbox, { idleMs: 30 }).warm(memoryHandle());
    await vi.waitFor(() => {
      expect(sandbox.channels[0]?.closes).toBe(1);
    });
  });

  it("does not connect to another host's sandbox", async () => {
    const sandbox = new MemorySandbox();
    createPool(sandbox).warm(memoryHandle("x", { hostId: "host-2" }));
    await expect(
      (pool as ChannelPool).acquire(memoryHandle("x", { hostId: "host-2" }), { signal }),
    ).rejects.toMatchObject({ code: "unreachable" });
    expect(sandbox.channels).toHaveLength(0);
  });

  it("lets a waiter go when its signal aborts, without harm to the others", async () => {
    const sandbox = new MemorySandbox();
    let proceed = (): void => undefined;
    const held = new Promise<void>((resolve) => (proceed = resolve));
    createPool(sandbox, {
      connect: async () => {
        await held;
        return sandbox.connect();
      },
    });
    const impatient = new AbortController();
    const first = (pool as ChannelPool).acquire(memoryHandle(), { signal: impatient.signal });
    const second = acquire();
    impatient.abort(new Error("no longer"));
    await expect(first).rejects.toThrow("no longer");
    proceed();
    await expect(second).resolves.toBeDefined();
  });

  it("gives up a connect that hangs and closes what arrives too late", async () => {
    const sandbox = new MemorySandbox();
    createPool(sandbox, {
      connectTimeoutMs: 30,
      connect: async () => {
        await sleep(90);
        return sandbox.connect();
      },
    });
    await expect(acquire()).rejects.toMatchObject({ code: "unavailable" });
    await vi.waitFor(() => {
      expect(sandbox.channels[0]?.closes).toBe(1);
    });
  });

  it("closes everything, also a connect on its way, and opens nothing afterwards", async () => {
    const sandbox = new MemorySandbox();
    const closed = createPool(sandbox, {
      connect: async (handle) => {
        if (handle.sandboxId === "slow") await sleep(60);
        return sandbox.connect();
      },
    });
    await acquire("a");
    closed.warm(memoryHandle("slow"));
    await closed.close();
    expect(sandbox.channels[0]?.closes).toBe(1);
    await expect(acquire("a")).rejects.toMatchObject({ code: "unavailable" });
    await vi.waitFor(() => {
      expect(sandbox.channels[1]?.closes).toBe(1);
    });
  });
});
