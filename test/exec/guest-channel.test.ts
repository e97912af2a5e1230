import { describe, expect, it } from "vitest";
import { createGuestChannel, type GuestChannel } from "../../src/exec/guest-channel.js";
import { openGuestConnection } from "../../src/exec/guest-connection.js";
import type { CallEnd } from "../../src/providers/channel.js";
import { createMemoryTransport, hello, type MemoryTransport } from "../support/memory-transport.js";

const roots = { workspace: "/workspace", uploads: "/mnt/session/uploads", outputs: "/mnt/session/outputs" };
const goOn = new AbortController().signal;

async function open(): Promise<{ far: MemoryTransport; channel: GuestChannel }> {
  const far = createMemoryTransport();
  far.frame(hello);
  const connection = await openGuestConnection({
    transport: far.transport,
    helloTimeoutMs: 1_000,
    signal: goOn,
  });
  return { far, channel: createGuestChannel(connection, roots) };
}

function follow(
  channel: GuestChannel,
  options: { onOutput?: (bytes: Uint8Array) => void | Promise<void>; signal?: AbortSignal } = {},
): Promise<CallEnd> {
  return channel.follow("c1", {
    from: { stdout: 0, stderr: 0 },
    signal: options.signal ?? goOn,
    onOutput: (_stream, bytes) => options.onOutput?.(bytes),
  });
}

const exited = (stdout: number) => ({
  outcome: { kind: "exited", exitCode: 0 },
  totals: { stdout, stderr: 0 },
  startedAtMs: 1,
  endedAtMs: 2,
  background: [],
});
const output = (id: number, offset: number) => ({ type: "output", id, stream: "stdout", offset });

describe("opening a channel", () => {
  it.each([
    ["another protocol", { ...hello, protocol: 2 }, "unsupported"],
    ["no hello first", { type: "result", id: 1 }, "unavailable"],
    ["an empty epoch", { ...hello, epoch: "" }, "unavailable"],
  ])("refuses %s and ends the client", async (_, frame, code) => {
    const far = createMemoryTransport();
    far.frame(frame);
    const opening = openGuestConnection({ transport: far.transport, helloTimeoutMs: 1_000, signal: goOn });
    await expect(opening).rejects.toMatchObject({ code });
    expect(far.isDestroyed()).toBe(true);
  });

  it("says what came instead of a hello, without its control characters", async () => {
    const far = createMemoryTransport();
    far.send("OCI runtime exec failed: \u001b[31mresource temporarily unavailable\n", "x".repeat(100_000));
    const opening = openGuestConnection({ transport: far.transport, helloTimeoutMs: 1_000, signal: goOn });
    const error: unknown = await opening.catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: "unavailable" });
    expect((error as Error).message).toMatch(
      /but: OCI runtime exec failed:\s+\[31mresource temporarily unavailable/,
    );
    expect((error as Error).message.length).toBeLessThan(2_000);
  });

  it("gives a silent guest up after the time for its hello", async () => {
    const far = createMemoryTransport();
    const opening = openGuestConnection({ transport: far.transport, helloTimeoutMs: 30, signal: goOn });
    await expect(opening).rejects.toMatchObject({ code: "unavailable" });
    expect(far.isDestroyed()).toBe(true);
  });

  it("gives up when the operation is cancelled", async () => {
    const far = createMemoryTransport();
    const opening = openGuestConnection({
      transport: far.transport,
      helloTimeoutMs: 10_000,
      signal: AbortSignal.abort(),
    });
    await expect(opening).rejects.toMatchObject({ code: "unavailable" });
  });
});

describe("B10 [out-fabricated] following never makes an end up", () => {
  it("delivers output in order, then the end", async () => {
    const { far, channel } = await open();
    const pieces: string[] = [];
    const end = follow(channel, { onOutput: (bytes) => void pieces.push(Buffer.from(bytes).toString()) });
    far.frame(output(1, 0), Buffer.from("one "));
    far.frame(output(1, 4), Buffer.from("two"));
    far.frame({ type: "end", id: 1, end: exited(7) });
    await expect(end).resolves.toMatchObject({ outcome: { kind: "exited", exitCode: 0 } });
    expect(pieces.join("")).toBe("one two");
  });

  it.each<[string, (far: MemoryTransport) => void]>([
    [
      "the stream just ends",
      (far) => {
        far.end();
      },
    ],
    [
      "it ends in the middle of a frame",
      (far) => {
        far.send('{"type":"end","id":1');
        far.end();
      },
    ],
    [
      "the end counts more than came",
      (far) => {
        far.frame({ type: "end", id: 1, end: exited(99) });
      },
    ],
    [
      "the end counts less than came",
      (far) => {
        far.frame({ type: "end", id: 1, end: exited(1) });
      },
    ],
    [
      "there is no exit record",
      (far) => {
        far.frame({ type: "end", id: 1 });
      },
    ],
    [
      "the outcome is no command's",
      (far) => {
        far.frame({ type: "end", id: 1, end: { ...exited(4), outcome: { kind: "ok" } } });
      },
    ],
    [
      "a plain result comes instead",
      (far) => {
        far.frame({ type: "result", id: 1 });
      },
    ],
    [
      "output skips bytes",
      (far) => {
        far.frame(output(1, 5), Buffer.from("x"));
      },
    ],
    [
      "output repeats bytes",
      (far) => {
        far.frame(output(1, 3), Buffer.from("x"));
      },
    ],
    [
      "output is of no stream",
      (far) => {
        far.frame({ ...output(1, 4), stream: "x" }, Buffer.from("x"));
      },
    ],
    [
      "a frame is for an unknown request",
      (far) => {
        far.frame({ type: "result", id: 77 });
      },
    ],
    [
      "a frame has no id",
      (far) => {
        far.frame({ type: "result" });
      },
    ],
    [
      "bytes are no frame",
      (far) => {
        far.send("garbage\n");
      },
    ],
    [
      "a length is impossible",
      (far) => {
        far.send('{"type":"output","id":1,"bytes":99999999999}\n');
      },
    ],
    [
      "the guest says fatal",
      (far) => {
        far.frame({ type: "fatal", code: "not-found", message: "x" });
      },
    ],
  ])("%s: interrupted, the channel is closed", async (_, breakIt) => {
    const { far, channel } = await open();
    const end = follow(channel);
    far.frame(output(1, 0), Buffer.from("four"));
    breakIt(far);
    await expect(end).rejects.toMatchObject({ name: "ProviderError", code: "unavailable" });
    expect(channel.closed).toBe(true);
    expect(far.isDestroyed()).toBe(true);
    await expect(channel.calls()).rejects.toMatchObject({ code: "unavailable" });
  });

  it("an error of the guest concerns that request only", async () => {
    const { far, channel } = await open();
    const end = follow(channel);
    far.frame({ type: "error", id: 1, code: "not-found", message: "never claimed", hint: "run it" });
    await expect(end).rejects.toMatchObject({ code: "not-found", message: "never claimed", hint: "run it" });
    expect(channel.closed).toBe(false);
  });

  it("an unknown code becomes internal, and a flood of text is cut", async () => {
    const { far, channel } = await open();
    const end = follow(channel);
    far.frame({ type: "error", id: 1, code: "constructor", message: "m".repeat(100_000) });
    const error: unknown = await end.catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: "internal" });
    expect((error as Error).message.length).toBeLessThan(10_000);
  });
});

describe("back-pressure", () => {
  const piece = Buffer.alloc(256 * 1024, "x");

  it("grants credit only for what was consumed, and ends a guest that sends more", async () => {
    const { far, channel } = await open();
    let release: (() => void) | undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const end = follow(channel, { onOutput: () => held });
    await new Promise((resolve) => setTimeout(resolve, 20));
    const pieces = Number(far.sent[0]?.header["credit"]) / piece.length;
    for (let index = 0; index < pieces; index += 1) far.frame(output(1, index * piece.length), piece);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(far.sent.filter(({ header }) => header["type"] === "credit")).toEqual([]);
    expect(channel.closed).toBe(false);
    far.frame(output(1, pieces * piece.length), Buffer.from("one more"));
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(channel.closed).toBe(true);
    release?.();
    await expect(end).rejects.toThrow(/more output than was granted/);
  });

  it("keeps an endless stream going", async () => {
    const { far, channel } = await open();
    let sent = 0;
    let credit = 0;
    const total = 16 * 1024 * 1024;
    const pump = (): void => {
      while (sent < total && credit >= piece.length) {
        far.frame(output(1, sent), piece);
        sent += piece.length;
        credit -= piece.length;
      }
      if (sent === total) far.frame({ type: "end", id: 1, end: exited(total) });
    };
    far.onFrame((header) => {
      credit += Number(header["credit"] ?? 0);
      pump();
    });
    let received = 0;
    await follow(channel, { onOutput: (bytes) => void (received += bytes.length) });
    expect(received).toBe(total);
  });

  it("a consumer that fails ends the following with its own error, and not the channel", async () => {
    const { far, channel } = await open();
    const end = follow(channel, {
      onOutput: () => {
        throw new Error("disk full");
      },
    });
    far.frame(output(1, 0), Buffer.from("x"));
    far.onFrame((header) => {
      if (header["type"] === "abort")
        far.frame({ type: "error", id: 1, code: "closed", message: "given up" });
    });
    await expect(end).rejects.toThrow("disk full");
    expect(channel.closed).toBe(false);
  });

  it("aborting ends the following and tells the guest", async () => {
    const { far, channel } = await open();
    const giveUp = new AbortController();
    const end = follow(channel, { signal: giveUp.signal });
    far.onFrame((header) => {
      if (header["type"] === "abort")
        far.frame({ type: "error", id: 1, code: "closed", message: "given up" });
    });
    giveUp.abort(new Error("enough"));
    await expect(end).rejects.toMatchObject({ code: "unavailable", cause: new Error("enough") });
    expect(channel.closed).toBe(false);
  });
});

describe("requests", () => {
  it("a run and its follow leave in one write, claim first", async () => {
    const { far, channel } = await open();
    const request = {
      callId: "c1",
      script: "true",
      cwd: "/",
      env: { A: "1" },
      timeoutMs: 1,
      outputLimitBytes: 1,
    };
    const running = channel.run(request);
    const following = follow(channel);
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(far.sent.map(({ header }) => [header["id"], header["op"]])).toEqual([
      [1, "run"],
      [2, "follow"],
    ]);
    expect(far.sent[0]?.payload.toString()).toBe("A=1\0true");
    expect(far.sent[0]?.header).toMatchObject({ envBytes: 4, bytes: 8 });
    far.frame({ type: "result", id: 1, state: "started" });
    far.frame({ type: "end", id: 2, end: exited(0) });
    await expect(running).resolves.toEqual({ state: "started" });
    await following;
  });

  it("a request too large for the guest is refused here, and the channel goes on", async () => {
    const { far, channel } = await open();
    const script = "x".repeat(9 * 1024 * 1024);
    const request = { callId: "c1", script, cwd: "/", env: {}, timeoutMs: 1, outputLimitBytes: 1 };
    await expect(channel.run(request)).rejects.toMatchObject({ code: "too-large" });
    const killing = channel.kill("c1", { graceMs: 1, cause: "stop" });
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(far.sent.map(({ header }) => header["op"])).toEqual(["kill"]);
    far.frame({ type: "result", id: far.sent[0]?.header["id"] });
    await killing;
  });

  it("closing tells every request, and kills a client that doesn't go", async () => {
    const { channel } = await open();
    const end = follow(channel);
    const closing = channel.close();
    await expect(end).rejects.toMatchObject({ code: "unavailable" });
    await closing;
    expect(channel.closed).toBe(true);
  });

  it("a listing with a broken record ends the channel", async () => {
    const { far, channel } = await open();
    const listing = channel.files.list("/workspace", { maxEntries: 10 });
    far.frame({ type: "data", id: 1 }, Buffer.from("f5 a\0z?? b\0"));
    far.frame({ type: "result", id: 1, truncated: false });
    await expect(listing).rejects.toMatchObject({ code: "unavailable" });
    expect(channel.closed).toBe(true);
  });

  it("a listing keeps raw names", async () => {
    const { far, channel } = await open();
    const listing = channel.files.list("/workspace", { maxEntries: 10 });
    far.frame({ type: "data", id: 1 }, Buffer.from([0x66, 0x35, 0x20, 0xff, 0x0a, 0x20, 0]));
    far.frame({ type: "result", id: 1, truncated: true });
    await expect(listing).resolves.toEqual({
      entries: [{ type: "file", sizeBytes: 5, name: Buffer.from([0xff, 0x0a, 0x20]) }],
      truncated: true,
    });
  });
});
