import { ProviderError } from "../providers/errors.js";

/** Limits of the protocol (guest/PROTOCOL.md); the other side is taken for hostile. */
export const frameLimits = { lineBytes: 262_144, payloadBytes: 8_388_608, dataBytes: 262_144 } as const;

export interface Frame {
  readonly header: Readonly<Record<string, unknown>>;
  readonly payload: Buffer;
}

const newline = 0x0a;
const noPayload: Buffer = Buffer.alloc(0);

/** Any breach of the protocol. The channel ends with it; commands in the sandbox go on. */
export function protocolError(what: string): ProviderError {
  return new ProviderError("unavailable", `the sandbox's guest broke the protocol: ${what}`, {
    hint: "Connect again; calls are found by their ids. If it happens again, remove the sandbox.",
  });
}

/** Throws `too-large` instead of sending what the guest would end the channel for. */
export function encodeFrame(header: Readonly<Record<string, unknown>>, payload = noPayload): Buffer[] {
  const hasPayload = payload.length > 0;
  const line = Buffer.from(`${JSON.stringify(hasPayload ? { ...header, bytes: payload.length } : header)}\n`);
  if (line.length > frameLimits.lineBytes || payload.length > frameLimits.payloadBytes) {
    throw new ProviderError("too-large", "a request is larger than the sandbox's guest takes", {
      hint: "Write the script or the data to a file in pieces and use it from there.",
    });
  }
  return hasPayload ? [line, payload] : [line];
}

/**
 * Cuts a byte stream into frames. Memory follows what has arrived, never what a length announces, and stays
 * below one line and one payload.
 */
export class FrameReader {
  #pending: Buffer[] = [];
  #pendingBytes = 0;
  #header: Frame["header"] | undefined;
  #payloadBytes = 0;

  /** Frames completed by this chunk. Throws `ProviderError` on a breach; the reader is of no use afterwards. */
  *push(chunk: Buffer): Generator<Frame> {
    let rest = chunk;
    while (rest.length > 0) {
      if (this.#header === undefined) {
        const end = rest.indexOf(newline);
        const lineBytes = this.#pendingBytes + (end === -1 ? rest.length : end + 1);
        if (lineBytes > frameLimits.lineBytes) throw protocolError("a header line is too long");
        if (end === -1) {
          this.#keep(rest);
          return;
        }
        this.#keep(rest.subarray(0, end));
        rest = rest.subarray(end + 1);
        this.#header = parseHeader(this.#take());
        this.#payloadBytes = payloadLength(this.#header);
      } else {
        const missing = this.#payloadBytes - this.#pendingBytes;
        this.#keep(rest.subarray(0, missing));
        rest = rest.subarray(missing);
      }
      if (this.#pendingBytes === this.#payloadBytes) {
        const header = this.#header;
        this.#header = undefined;
        yield { header, payload: this.#take() };
      }
    }
  }

  /** Whether the stream ended in the middle of a frame. */
  get isMidFrame(): boolean {
    return this.#header !== undefined || this.#pendingBytes > 0;
  }

  #keep(part: Buffer): void {
    if (part.length === 0) return;
    this.#pending.push(part);
    this.#pendingBytes += part.length;
  }

  #take(): Buffer {
    const [first = noPayload] = this.#pending;
    const whole = this.#pending.length > 1 ? Buffer.concat(this.#pending, this.#pendingBytes) : first;
    this.#pending = [];
    this.#pendingBytes = 0;
    return whole;
  }
}

function parseHeader(line: Buffer): Frame["header"] {
  let value: unknown;
  try {
    value = JSON.parse(line.toString("utf8"));
  } catch {
    // JSON's own message would quote the sandbox's bytes; that it is no JSON says enough.
    throw protocolError("a header line is not JSON");
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw protocolError("a header line is not an object");
  }
  return value as Frame["header"];
}

function payloadLength(header: Frame["header"]): number {
  const bytes = header["bytes"] ?? 0;
  if (
    typeof bytes !== "number" ||
    !Number.isSafeInteger(bytes) ||
    bytes < 0 ||
    bytes > frameLimits.payloadBytes
  ) {
    throw protocolError("a payload has an impossible length");
  }
  return bytes;
}
