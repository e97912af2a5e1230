import { z } from "zod";
import { ProviderError } from "../providers/errors.js";
import { encodeFrame, FrameReader, protocolError, type Frame } from "./guest-frames.js";
import { guestError } from "./guest-error.js";
import type { GuestTransport } from "./guest-transport.js";

export const guestProtocol = 1;

const helloSchema = z.object({
  type: z.literal("hello"),
  protocol: z.number(),
  build: z.string().max(200),
  epoch: z.string().min(1).max(200),
  capabilities: z.array(z.string()).default([]),
  poisoned: z.boolean().default(false),
  stopping: z.boolean().default(false),
});
export type GuestHello = z.infer<typeof helloSchema>;

/** One request under way. `done` settles with the final frame, or with what ended the channel. */
export interface GuestRequest {
  readonly done: Promise<Frame>;
  /** Sends a further frame of this request (data, credit, abort, end); nothing when it has ended. */
  send(header: Readonly<Record<string, unknown>>, payload?: Buffer): void;
}

export interface GuestConnection {
  readonly hello: GuestHello;
  readonly closed: boolean;
  /** Sends in the order of the calls. `onFrame` gets what comes before the final frame; it may throw to end the channel. */
  request(
    header: Readonly<Record<string, unknown>>,
    payload?: Buffer,
    onFrame?: (frame: Frame) => void,
  ): GuestRequest;
  /** Ends the channel because of what the other side did. */
  fail(error: ProviderError): void;
  close(): Promise<void>;
}

interface Settle {
  resolve(): void;
  reject(error: ProviderError): void;
}

interface Pending {
  readonly onFrame: ((frame: Frame) => void) | undefined;
  resolve(frame: Frame): void;
  reject(error: ProviderError): void;
}

const finalTypes: readonly unknown[] = ["result", "end", "error"];

/** Of what came instead of a hello, what the error shows. */
const maxPreambleBytes = 1_000;

/** A guest that closes cleanly is gone at once; after this its client is killed. */
const closeGraceMs = 1_000;

/**
 * Waits for the guest's hello on a fresh transport. Rejects with `ProviderError` when the transport ends
 * before, when `signal` aborts, or after `helloTimeoutMs`; the transport is then destroyed.
 */
export async function openGuestConnection(options: {
  transport: GuestTransport;
  helloTimeoutMs: number;
  signal: AbortSignal;
}): Promise<GuestConnection> {
  const connection = new Connection(options.transport);
  const giveUp = (what: string): void => {
    connection.fail(new ProviderError("unavailable", `no answer from the sandbox's guest: ${what}`));
  };
  const onAbort = (): void => {
    giveUp("the operation was cancelled");
  };
  const timer = setTimeout(() => {
    giveUp(`nothing within ${options.helloTimeoutMs} ms`);
  }, options.helloTimeoutMs);
  options.signal.addEventListener("abort", onAbort, { once: true });
  if (options.signal.aborted) onAbort();
  try {
    await connection.ready;
    return connection;
  } finally {
    clearTimeout(timer);
    options.signal.removeEventListener("abort", onAbort);
  }
}

class Connection implements GuestConnection {
  readonly ready: Promise<void>;
  readonly #transport: GuestTransport;
  readonly #reader = new FrameReader();
  readonly #pending = new Map<number, Pending>();
  #lastId = 0;
  #hello: GuestHello | undefined;
  #preamble = "";
  #failure: ProviderError | undefined;
  #isCorked = false;
  #settleReady: Settle | undefined;

  constructor(transport: GuestTransport) {
    this.#transport = transport;
    this.ready = new Promise<void>((resolve, reject) => {
      this.#settleReady = { resolve, reject };
    });
    const onError = (error: Error): void => {
      this.fail(interrupted(error.message));
    };
    transport.input.on("error", onError);
    transport.output.on("error", onError);
    transport.output.on("data", (chunk: Buffer) => {
      this.#receive(chunk);
    });
    transport.output.on("end", () => {
      this.fail(interrupted(this.#reader.isMidFrame ? "it ended in the middle of a frame" : "it ended"));
    });
  }

  get hello(): GuestHello {
    if (this.#hello === undefined) throw new ProviderError("internal", "no hello on this channel yet");
    return this.#hello;
  }

  get closed(): boolean {
    return this.#failure !== undefined;
  }

  request(
    header: Readonly<Record<string, unknown>>,
    payload?: Buffer,
    onFrame?: (frame: Frame) => void,
  ): GuestRequest {
    const id = this.#lastId + 1;
    const parts = encodeFrame({ id, ...header }, payload);
    // Only now: ids must rise without gaps that the guest never saw.
    this.#lastId = id;
    const done = new Promise<Frame>((resolve, reject) => {
      if (this.#failure !== undefined) reject(this.#failure);
      else this.#pending.set(id, { onFrame, resolve, reject });
    });
    this.#write(parts);
    return {
      done,
      send: (more, data) => {
        if (this.#pending.has(id)) this.#write(encodeFrame({ id, ...more }, data));
      },
    };
  }

  fail(error: ProviderError): void {
    if (this.#failure !== undefined) return;
    this.#failure = error;
    this.#settleReady?.reject(error);
    for (const pending of this.#pending.values()) pending.reject(error);
    this.#pending.clear();
    this.#transport.destroy();
  }

  async close(): Promise<void> {
    if (this.#failure === undefined) {
      this.#failure = interrupted("this side closed it");
      for (const pending of this.#pending.values()) pending.reject(this.#failure);
      this.#pending.clear();
      this.#transport.input.end();
    }
    const timer = setTimeout(() => {
      this.#transport.destroy();
    }, closeGraceMs);
    await this.#transport.exited;
    clearTimeout(timer);
  }

  #write(parts: readonly Buffer[]): void {
    if (this.#failure !== undefined) return;
    const { input } = this.#transport;
    // A run and its follow leave in one write: two would wake the guest's side twice.
    if (!this.#isCorked) {
      this.#isCorked = true;
      input.cork();
      process.nextTick(() => {
        this.#isCorked = false;
        input.uncork();
      });
    }
    for (const part of parts) input.write(part);
  }

  #receive(chunk: Buffer): void {
    // Bytes that cross our closing are nobody's.
    if (this.#failure !== undefined) return;
    if (this.#hello === undefined) {
      this.#preamble += chunk.subarray(0, maxPreambleBytes - this.#preamble.length).toString("latin1");
    }
    try {
      for (const frame of this.#reader.push(chunk)) this.#dispatch(frame);
    } catch (error) {
      const failure = error instanceof ProviderError ? error : protocolError("a frame could not be handled");
      this.fail(this.#hello === undefined && failure.code === "unavailable" ? this.#noHello() : failure);
    }
  }

  /** Engines print their own failures where the hello is expected, so the text is the reason. */
  #noHello(): ProviderError {
    const text = this.#preamble.replace(/[^\x20-\x7e]+/g, " ").trim();
    return new ProviderError("unavailable", `no hello from the sandbox's guest, but: ${text}`, {
      hint: "Connect again. If it happens again, stop and resume the session.",
    });
  }

  #dispatch(frame: Frame): void {
    const { type, id } = frame.header;
    if (this.#hello === undefined) {
      this.#greet(frame);
      return;
    }
    if (type === "fatal") {
      // Whatever its code: it ended the channel, not a call, and must not pass for the answer of one.
      throw protocolError(`it ended the channel: ${guestError(frame.header).message}`);
    }
    const pending = typeof id === "number" ? this.#pending.get(id) : undefined;
    if (typeof id !== "number" || pending === undefined)
      throw protocolError("a frame for an unknown request");
    if (!finalTypes.includes(type)) {
      if (pending.onFrame === undefined) throw protocolError("a frame that was not asked for");
      pending.onFrame(frame);
      return;
    }
    this.#pending.delete(id);
    if (type === "error") pending.reject(guestError(frame.header));
    else pending.resolve(frame);
  }

  #greet(frame: Frame): void {
    const hello = helloSchema.safeParse(frame.header);
    if (!hello.success) throw protocolError("the first frame is no hello");
    if (hello.data.protocol !== guestProtocol) {
      throw new ProviderError(
        "unsupported",
        `the sandbox's guest speaks protocol ${hello.data.protocol}, this release ${guestProtocol}`,
        {
          hint: "The sandbox was made by another release: finish it with that one, or recreate the session.",
        },
      );
    }
    this.#hello = hello.data;
    this.#settleReady?.resolve();
  }
}

function interrupted(why: string): ProviderError {
  return new ProviderError("unavailable", `the channel into the sandbox was interrupted: ${why}`, {
    hint: "Connect again; calls are found by their ids.",
  });
}
