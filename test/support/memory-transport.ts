import { PassThrough } from "node:stream";
import type { GuestTransport, TransportExit } from "../../src/exec/guest-transport.js";

/** A transport whose far side the test plays. */
export interface MemoryTransport {
  readonly transport: GuestTransport;
  /** What the host has sent, whole frames parsed: header and payload. */
  readonly sent: { header: Record<string, unknown>; payload: Buffer }[];
  readonly isDestroyed: () => boolean;
  /** Sends bytes as the guest. */
  send(...parts: (string | Buffer)[]): void;
  /** Sends one frame as the guest. */
  frame(header: Record<string, unknown>, payload?: Buffer): void;
  end(): void;
  /** Calls back for each frame of the host, at once for those that came already. */
  onFrame(handler: (header: Record<string, unknown>, payload: Buffer) => void): void;
}

export const hello = {
  type: "hello",
  protocol: 1,
  build: "test",
  epoch: "e1",
  capabilities: [],
  poisoned: false,
  stopping: false,
};

export function createMemoryTransport(): MemoryTransport {
  const input = new PassThrough();
  const output = new PassThrough();
  const sent: MemoryTransport["sent"] = [];
  let handler: ((header: Record<string, unknown>, payload: Buffer) => void) | undefined;
  let isDestroyed = false;
  let resolveExit: ((exit: TransportExit) => void) | undefined;
  const exited = new Promise<TransportExit>((resolve) => {
    resolveExit = resolve;
  });
  const exit = (): void => {
    resolveExit?.({ exitCode: 0, signal: undefined, spawnError: undefined, stderr: "" });
  };

  let received = Buffer.alloc(0);
  input.on("data", (chunk: Buffer) => {
    received = Buffer.concat([received, chunk]);
    for (;;) {
      const newline = received.indexOf(10);
      if (newline === -1) return;
      const header = JSON.parse(received.subarray(0, newline).toString()) as Record<string, unknown>;
      const length = typeof header["bytes"] === "number" ? header["bytes"] : 0;
      if (received.length < newline + 1 + length) return;
      const payload = received.subarray(newline + 1, newline + 1 + length);
      received = received.subarray(newline + 1 + length);
      sent.push({ header, payload });
      handler?.(header, payload);
    }
  });
  input.on("end", exit);

  return {
    transport: {
      input,
      output,
      exited,
      destroy: () => {
        isDestroyed = true;
        exit();
      },
    },
    sent,
    isDestroyed: () => isDestroyed,
    send: (...parts) => {
      for (const part of parts) output.write(part);
    },
    frame: (header, payload) => {
      const bytes = payload === undefined ? {} : { bytes: payload.length };
      output.write(`${JSON.stringify({ ...header, ...bytes })}\n`);
      if (payload !== undefined) output.write(payload);
    },
    end: () => {
      output.end();
    },
    onFrame: (next) => {
      handler = next;
      for (const { header, payload } of sent) next(header, payload);
    },
  };
}
