import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { encodeFrame, FrameReader, frameLimits, type Frame } from "../../src/exec/guest-frames.js";
import { ProviderError } from "../../src/providers/errors.js";

function readAll(chunks: readonly Buffer[]): { frames: Frame[]; reader: FrameReader } {
  const reader = new FrameReader();
  return { frames: chunks.flatMap((chunk) => [...reader.push(chunk)]), reader };
}

function cut(whole: Buffer, sizes: readonly number[]): Buffer[] {
  const chunks: Buffer[] = [];
  let start = 0;
  for (const size of sizes) {
    chunks.push(whole.subarray(start, start + size));
    start += size;
  }
  chunks.push(whole.subarray(start));
  return chunks;
}

describe("guest frames", () => {
  it("reads what was written, however the bytes are cut", () => {
    const frame = fc.record({
      header: fc.dictionary(
        fc.string().filter((key) => key !== "bytes" && key !== "__proto__"),
        fc.string(),
      ),
      payload: fc.uint8Array({ maxLength: 300 }),
    });
    fc.assert(
      fc.property(fc.array(frame, { maxLength: 5 }), fc.array(fc.nat(40)), (frames, sizes) => {
        const whole = Buffer.concat(
          frames.flatMap(({ header, payload }) => encodeFrame(header, Buffer.from(payload))),
        );
        const { frames: read, reader } = readAll(cut(whole, sizes));
        expect(read.map(({ payload }) => payload.toString("hex"))).toEqual(
          frames.map(({ payload }) => Buffer.from(payload).toString("hex")),
        );
        read.forEach(({ header }, index) => {
          expect(header).toMatchObject(frames[index]?.header ?? {});
        });
        expect(reader.isMidFrame).toBe(false);
      }),
    );
  });

  it("takes any bytes at all without crashing: frames or a typed error", () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 200 })), (chunks) => {
        try {
          readAll(chunks.map((chunk) => Buffer.from(chunk)));
        } catch (error) {
          expect(error).toBeInstanceOf(ProviderError);
          expect((error as ProviderError).code).toBe("unavailable");
        }
      }),
    );
  });

  it.each([
    ["not JSON", "hello\n"],
    ["an array", "[1]\n"],
    ["null", "null\n"],
    ["a string", '"x"\n'],
    ["a negative length", '{"bytes":-1}\n'],
    ["a fraction", '{"bytes":1.5}\n'],
    ["a length as text", '{"bytes":"5"}\n'],
    ["a length beyond all numbers", '{"bytes":1e999}\n'],
    ["a length above the limit", `{"bytes":${frameLimits.payloadBytes + 1}}\n`],
    ["an empty line", "\n"],
  ])("refuses %s", (_, text) => {
    expect(() => readAll([Buffer.from(text)])).toThrow(/broke the protocol/);
  });

  it("refuses an endless header before it is stored, whole or in pieces", () => {
    const piece = Buffer.alloc(64 * 1024, "x");
    expect(() => readAll([piece, piece, piece, piece, piece])).toThrow(/too long/);
    expect(() => readAll([Buffer.alloc(frameLimits.lineBytes + 1, "x")])).toThrow(/too long/);
  });

  it("takes a line and a payload of exactly the limit", () => {
    const empty = '{"x":""}\n';
    const line = `{"x":"${"y".repeat(frameLimits.lineBytes - empty.length)}"}\n`;
    expect(line.length).toBe(frameLimits.lineBytes);
    expect(readAll([Buffer.from(line)]).frames).toHaveLength(1);

    const payload = Buffer.alloc(frameLimits.payloadBytes, 1);
    const { frames } = readAll(encodeFrame({ type: "data" }, payload));
    expect(frames[0]?.payload.equals(payload)).toBe(true);
  });

  it("knows when a stream ended in the middle", () => {
    expect(readAll([Buffer.from('{"bytes":3}\nab')]).reader.isMidFrame).toBe(true);
    expect(readAll([Buffer.from('{"a"')]).reader.isMidFrame).toBe(true);
    expect(readAll([Buffer.from('{"bytes":3}\nabc')]).reader.isMidFrame).toBe(false);
  });

  it("refuses to send what the guest would end the channel for", () => {
    expect(() => encodeFrame({ cwd: "x".repeat(frameLimits.lineBytes) })).toThrow(
      expect.objectContaining({ code: "too-large" }),
    );
    expect(() => encodeFrame({}, Buffer.alloc(frameLimits.payloadBytes + 1))).toThrow(
      expect.objectContaining({ code: "too-large" }),
    );
  });
});
