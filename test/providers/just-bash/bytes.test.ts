import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeBytes, encodeText } from "../../../src/providers/just-bash/byte-text.js";
import { stderrBytes } from "../../../src/providers/just-bash/output-bytes.js";

describe("text that keeps bytes", () => {
  it("any bytes come back as they were", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
        expect([...encodeText(decodeBytes(bytes))]).toEqual([...bytes]);
      }),
      { numRuns: 2000 },
    );
  });

  it("valid UTF-8 is its usual text, a byte order mark included", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), (text) => {
        expect(decodeBytes(Buffer.from(`\ufeff${text}`))).toBe(`\ufeff${text}`);
      }),
    );
  });

  it("keeps overlong forms, encoded surrogates and values beyond Unicode byte by byte", () => {
    for (const bytes of [
      [0xc0, 0x80],
      [0xe0, 0x80, 0x80],
      [0xed, 0xb3, 0xa9],
      [0xf4, 0x90, 0x80, 0x80],
      [0xf0, 0x9f],
    ]) {
      const text = decodeBytes(Uint8Array.from(bytes));
      expect(text).toBe(bytes.map((byte) => String.fromCharCode(0xdc00 + byte)).join(""));
    }
  });
});

describe("stderr", () => {
  it("is read as text or as bytes by what it holds", () => {
    expect(Buffer.from(stderrBytes("é\n")).toString()).toBe("é\n");
    expect(Buffer.from(stderrBytes("caf\u00c3\u00a9 ☕")).toString()).toBe("caf\u00c3\u00a9 ☕");
    expect(Buffer.from(stderrBytes("caf\u00c3\u00a9")).toString()).toBe("café");
    expect([...stderrBytes("\u0000\u00ff")]).toEqual([0, 0xff]);
  });
});
