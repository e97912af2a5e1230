import { describe, expect, it } from "vitest";
import { runToEnd, type AttachOptions } from "../../src/exec/attach.js";
import { createChannelPool } from "../../src/exec/channel-pool.js";
import type { OutputStream, RunRequest } from "../../src/providers/channel.js";
import { ProviderError } from "../../src/providers/errors.js";
import { memoryHandle, MemorySandbox } from "../support/memory-channel.js";

function attach(sandbox: MemorySandbox, changes: Partial<AttachOptions> & { script?: string } = {}) {
  const { script = "print", ...options } = changes;
  const pool = createChannelPool({ hostId: "host-1", maxChannels: 2, connect: sandbox.connect });
  const signal = options.signal ?? new AbortController().signal;
  const output: Record<OutputStream, Buffer[]> = { stdout: [], stderr: [] };
  let claims = 0;
  const request: RunRequest = {
    callId: "call-1",
    script,
    cwd: "/workspace",
    env: {},
    timeoutMs: 60_000,
    outputLimitBytes: 1024 ** 3,
  };
  const end = runToEnd({
    openChannel: () => pool.acquire(memoryHandle(), { signal }),
    request,
    signal,
    onClaimed: () => {
      claims += 1;
    },
    onOutput: (stream, bytes) => {
      output[stream].push(Buffer.from(bytes));
      return Promise.resolve();
    },
    ...options,
  }).finally(() => pool.close());
  return {
    end,
    pool,
    text: (stream: OutputStream) => Buffer.concat(output[stream]).toString(),
    claims: () => claims,
  };
}

function printing(stdout: string, stderr = ""): MemorySandbox {
  const sandbox = new MemorySandbox();
  sandbox.programs.set("print", ({ write }) => {
    write("stdout", stdout);
    write("stderr", stderr);
    return Promise.resolve({ kind: "exited", exitCode: 3 });
  });
  return sandbox;
}
const numbers = Array.from({ length: 2000 }, (_, index) => `${index}\n`).join("");

describe("runToEnd", () => {
  it("runs a command and delivers both streams", async () => {
    const attached = attach(printing("out", "err"));
    expect((await attached.end).outcome).toEqual({ kind: "exited", exitCode: 3 });
    expect([attached.text("stdout"), attached.text("stderr")]).toEqual(["out", "err"]);
    expect(attached.claims()).toBe(1);
  });

  it("B10 [out-fabricated] goes on where the channel broke, any number of times, and starts nothing twice", async () => {
    const sandbox = printing(numbers, numbers);
    sandbox.pieceBytes = 700;
    let pieces = 0;
    sandbox.onPiece = (channel) => {
      pieces += 1;
      if (pieces % 7 === 0) channel.break();
    };
    const attached = attach(sandbox);
    expect((await attached.end).outcome).toEqual({ kind: "exited", exitCode: 3 });
    expect(attached.text("stdout")).toBe(numbers);
    expect(attached.text("stderr")).toBe(numbers);
    expect(sandbox.starts).toBe(1);
    expect(sandbox.channels.length).toBeGreaterThan(3);
  });

  it("B10 [out-fabricated] takes an end whose totals weren't delivered for an interruption", async () => {
    const sandbox = printing("all of it");
    let lies = 2;
    const connect = sandbox.connect;
    const lying: MemorySandbox["connect"] = async () => {
      const channel = await connect();
      if (lies-- <= 0) return channel;
      const follow = channel.follow.bind(channel);
      channel.follow = async (callId, options) => {
        const end = await follow(callId, { ...options, onOutput: () => undefined });
        return { ...end, outcome: { kind: "exited", exitCode: 0 } };
      };
      return channel;
    };
    const pool = createChannelPool({ hostId: "host-1", maxChannels: 2, connect: lying });
    const signal = new AbortController().signal;
    const attached = attach(sandbox, { openChannel: () => pool.acquire(memoryHandle(), { signal }) });
    expect((await attached.end).outcome).toEqual({ kind: "exited", exitCode: 3 });
    expect(attached.text("stdout")).toBe("all of it");
    await pool.close();
  });

  it("drops what is delivered twice and refuses what was skipped", async () => {
    const sandbox = printing("0123456789");
    let round = 0;
    const connect = sandbox.connect;
    const sloppy: MemorySandbox["connect"] = async () => {
      const channel = await connect();
      const follow = channel.follow.bind(channel);
      round += 1;
      const shift = round === 1 ? 0 : 4;
      channel.follow = (callId, options) =>
        follow(callId, {
          ...options,
          from: round === 1 ? { stdout: 2, stderr: 0 } : { ...options.from, stdout: 0 },
          onOutput: async (stream, bytes, offset) => {
            if (shift > 0) await options.onOutput(stream, bytes.subarray(0, shift), offset);
            await options.onOutput(stream, bytes, offset);
          },
        });
      return channel;
    };
    const pool = createChannelPool({ hostId: "host-1", maxChannels: 2, connect: sloppy });
    const signal = new AbortController().signal;
    const attached = attach(sandbox, { openChannel: () => pool.acquire(memoryHandle(), { signal }) });
    await attached.end;
    expect(round).toBe(2);
    expect(attached.text("stdout")).toBe("0123456789");
    await pool.close();
  });

  it("waits through an engine that is away, and claims then", async () => {
    const sandbox = printing("out");
    for (let failures = 0; failures < 4; failures += 1) {
      sandbox.connectErrors.push(new ProviderError("unavailable", "the engine is away"));
    }
    const attached = attach(sandbox);
    expect((await attached.end).outcome.kind).toBe("exited");
    expect(sandbox.connectErrors).toHaveLength(0);
  });

  it("ends with session-lost when the sandbox is gone", async () => {
    const sandbox = printing(numbers);
    sandbox.pieceBytes = 100;
    sandbox.onPiece = (channel, delivered) => {
      if (delivered < 500) return;
      sandbox.connectErrors.push(new ProviderError("session-lost", "removed"));
      channel.break();
    };
    await expect(attach(sandbox).end).rejects.toMatchObject({ code: "session-lost" });
  });

  it("tells why a claim was refused", async () => {
    await expect(attach(new MemorySandbox()).end).rejects.toMatchObject({ code: "cannot-start" });
  });

  it("stops following when told to, and leaves the command alone", async () => {
    const sandbox = new MemorySandbox();
    let finish = (): void => undefined;
    sandbox.programs.set("print", async ({ write }) => {
      write("stdout", "early");
      await new Promise<void>((resolve) => (finish = resolve));
      return undefined;
    });
    const stop = new AbortController();
    const first = attach(sandbox, { signal: stop.signal });
    await expect.poll(() => first.text("stdout")).toBe("early");
    stop.abort(new Error("worker shutdown"));
    await expect(first.end).rejects.toThrow("worker shutdown");
    const second = attach(sandbox);
    await expect.poll(() => second.text("stdout")).toBe("early");
    finish();
    expect((await second.end).outcome).toEqual({ kind: "exited", exitCode: 0 });
    expect(sandbox.starts).toBe(1);
  });

  it("B25 [exec-no-end] replaces a channel that says nothing after the timeout", async () => {
    const sandbox = printing("x");
    sandbox.withholdEnd = true;
    const attached = attach(sandbox, {
      request: {
        callId: "call-1",
        script: "print",
        cwd: "/",
        env: {},
        timeoutMs: 50,
        outputLimitBytes: 100,
      },
      overdueMs: 100,
    });
    await expect.poll(() => sandbox.channels.length, { timeout: 5000 }).toBe(2);
    sandbox.withholdEnd = false;
    expect((await attached.end).outcome).toEqual({ kind: "exited", exitCode: 3 });
    expect(attached.text("stdout")).toBe("x");
  });

  it("B25 [exec-no-end] gives up with a typed error when a fresh channel says nothing either", async () => {
    const sandbox = printing("x");
    sandbox.withholdEnd = true;
    const request = { callId: "c", script: "print", cwd: "/", env: {}, timeoutMs: 30, outputLimitBytes: 9 };
    await expect(attach(sandbox, { request, overdueMs: 60 }).end).rejects.toMatchObject({
      code: "unavailable",
    });
    expect(sandbox.channels.every((channel) => channel.closed)).toBe(true);
  });
});
