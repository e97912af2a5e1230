import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createLocalArtifactStore } from "../../src/artifacts/local-artifact-store.js";
import type { ArtifactStore } from "../../src/artifacts/artifact-store.js";
import { limits } from "../../src/contract/names.js";
import type { Text } from "../../src/contract/refs.js";
import { createOutputCollector } from "../../src/exec/collector.js";
import { ProviderError } from "../../src/providers/errors.js";

let directory: string;
let artifacts: ArtifactStore;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "holdfast-collector-"));
  artifacts = createLocalArtifactStore({ directory });
});
afterAll(async () => {
  await rm(directory, { recursive: true, force: true });
});

const encoded = (value: unknown) => Buffer.byteLength(JSON.stringify(value));

async function collect(stdout: Uint8Array | string, stderr: Uint8Array | string = "", pieceBytes = 4096) {
  const collector = createOutputCollector({ artifacts });
  for (const [stream, content] of [
    ["stdout", stdout],
    ["stderr", stderr],
  ] as const) {
    const bytes = Buffer.from(content as string);
    for (let at = 0; at < bytes.byteLength; at += pieceBytes) {
      await collector.add(stream, bytes.subarray(at, at + pieceBytes));
    }
  }
  return collector.finish();
}
async function fullOf(text: Text): Promise<Buffer> {
  if (text.full === undefined) throw new Error("no reference");
  return Buffer.from(await artifacts.read(text.full, { maxBytes: 1024 ** 3 }));
}
/** The text's stretches of real output. */
const stretches = (text: string) => text.split(/\n?\[\.\.\. \d+ bytes omitted \.\.\.\]\n/);
const omittedByMarkers = (text: string) =>
  [...text.matchAll(/\[\.\.\. (\d+) bytes omitted \.\.\.\]/g)].reduce(
    (sum, [, count]) => sum + Number(count),
    0,
  );

describe("output collector", () => {
  it("returns short output as it is, without reference", async () => {
    const { stdout, stderr } = await collect("out\n", "err");
    expect(stdout).toEqual({ text: "out\n", totalBytes: 4, omittedBytes: 0 });
    expect(stderr).toEqual({ text: "err", totalBytes: 3, omittedBytes: 0 });
  });

  it("B01 [out-utf8] joins characters whose bytes arrive apart, each stream by itself", async () => {
    const collector = createOutputCollector({ artifacts });
    const bytes = Buffer.from("café ☕\n");
    for (const byte of bytes) {
      await collector.add("stdout", Buffer.of(byte));
      await collector.add("stderr", Buffer.of(byte));
    }
    const { stdout, stderr } = await collector.finish();
    expect(stdout.text).toBe("café ☕\n");
    expect(stderr.text).toBe("café ☕\n");
  });

  it.each([1, 2, 3, 4, 5])("B01 [out-utf8] cuts at characters only (shifted by %i bytes)", async (shift) => {
    const whole = "x".repeat(shift) + "☕".repeat(100_000);
    const { stdout } = await collect(whole);
    expect(stdout.text).not.toContain("\ufffd");
    expect(stdout.totalBytes).toBe(300_000 + shift);
    expect(stdout.omittedBytes).toBe(omittedByMarkers(stdout.text));
    const shown = stretches(stdout.text).reduce((sum, part) => sum + Buffer.byteLength(part), 0);
    expect(shown + stdout.omittedBytes).toBe(stdout.totalBytes);
    expect((await fullOf(stdout)).toString()).toBe(whole);
  });

  it("keeps a character that its head and tail share", async () => {
    const whole = "y\n".repeat(5119) + "y" + "☕\n".repeat(2000);
    const { stdout } = await collect(whole.slice(0, 11_900));
    expect(stdout.text).not.toContain("\ufffd");
  });

  it("cuts at characters where its head ends within one", async () => {
    const line = `${"y".repeat(98)}\n`;
    // The head's 10,240 bytes end after the first byte of a character.
    const whole = line.repeat(103) + "y".repeat(42) + `☕${line}`.repeat(1000);
    const { stdout } = await collect(whole);
    expect(stdout.text).not.toContain("\ufffd");
    expect(stretches(stdout.text)[0]?.endsWith("\n" + "y".repeat(42))).toBe(true);
    expect(stdout.omittedBytes).toBe(omittedByMarkers(stdout.text));
  });

  it("B06 [out-memory] keeps head and tail of 300 MB in bounded memory, the rest in the store", async () => {
    const line = Buffer.from("y\n".repeat(512 * 1024));
    const collector = createOutputCollector({ artifacts });
    const rssBefore = process.memoryUsage().rss;
    let peak = rssBefore;
    for (let round = 0; round < 300; round += 1) {
      await collector.add("stdout", line);
      peak = Math.max(peak, process.memoryUsage().rss);
    }
    await collector.add("stdout", Buffer.from("TAILMARK\n"));
    await collector.add("stderr", Buffer.from("WHY\n"));
    const { stdout, stderr } = await collector.finish();
    expect(stdout.text.startsWith("y\ny\n")).toBe(true);
    expect(stdout.text.endsWith("y\nTAILMARK\n")).toBe(true);
    expect(stdout.totalBytes).toBe(300 * 1024 * 1024 + 9);
    expect(stdout.omittedBytes).toBe(omittedByMarkers(stdout.text));
    expect(stdout.full?.sizeBytes).toBe(stdout.totalBytes);
    expect(stderr.text).toBe("WHY\n");
    expect(peak - rssBefore).toBeLessThan(100 * 1024 * 1024);
  }, 60_000);

  it("cuts to 2,000 lines, the last 1,600 among them, with exact counts", async () => {
    const whole = Array.from({ length: 5000 }, (_, index) => `${index}`).join("\n");
    const { stdout } = await collect(whole);
    const [head = "", tail = ""] = stretches(stdout.text);
    expect(head.trimEnd().split("\n")).toEqual(Array.from({ length: 400 }, (_, index) => `${index}`));
    expect(tail.split("\n")).toEqual(Array.from({ length: 1600 }, (_, index) => `${index + 3400}`));
    expect(stdout.omittedBytes).toBe(Buffer.byteLength(whole) - Buffer.byteLength(head + "\n" + tail));
    expect((await fullOf(stdout)).toString()).toBe(whole);
  });

  it("cuts a long line in the middle, by characters", async () => {
    const { stdout } = await collect(`before\n${"é".repeat(4000)}\nafter\n`);
    expect(stdout.text).toBe(
      `before\n${"é".repeat(400)}\n[... 4000 bytes omitted ...]\n${"é".repeat(1600)}\nafter\n`,
    );
    expect(stdout.omittedBytes).toBe(4000);
  });

  it("leaves a line of exactly 2,000 characters alone", async () => {
    const { stdout } = await collect(`${"é".repeat(2000)}\n`);
    expect(stdout.omittedBytes).toBe(0);
    expect(stdout.full).toBeUndefined();
  });

  it("B04 [out-tail] keeps the end of one endless line", async () => {
    const { stdout } = await collect("z".repeat(500_000) + "END\n");
    expect(stdout.text.endsWith("zEND\n")).toBe(true);
    expect(stdout.totalBytes).toBe(500_004);
  });

  it("B80 [temporal-payload] returns NULs as base64, both streams within the encoded budget", async () => {
    const nuls = Buffer.alloc(50_000);
    const { stdout, stderr } = await collect(nuls, nuls);
    expect(encoded({ stdout, stderr })).toBeLessThan(limits.answerBytes);
    for (const text of [stdout, stderr]) {
      expect(text.encoding).toBe("base64");
      expect(Buffer.from(text.text, "base64").byteLength + text.omittedBytes).toBe(50_000);
    }
    expect(await fullOf(stdout)).toEqual(nuls);
  });

  it("keeps text that encodes large within the budget", async () => {
    const quotes = `${'"\\'.repeat(24)}\n`.repeat(1000);
    const { stdout, stderr } = await collect(quotes, quotes);
    expect(encoded({ stdout, stderr })).toBeLessThan(limits.answerBytes);
    expect(stdout.omittedBytes).toBeGreaterThan(0);
    expect(stderr.omittedBytes).toBeGreaterThan(0);
    expect((await fullOf(stderr)).toString()).toBe(quotes);
  });

  it("gives one stream what the other doesn't need", async () => {
    const lines = `${"x".repeat(99)}\n`.repeat(500);
    const { stdout, stderr } = await collect(lines, "little");
    expect(stdout.text).toBe(lines);
    expect(stderr.text).toBe("little");
  });

  it("shares the budget by need when both streams together are too large", async () => {
    const quotes = `${'"\\'.repeat(24)}\n`.repeat(1000);
    const little = `${"x".repeat(99)}\n`.repeat(200);
    for (const swapped of [false, true]) {
      const { stdout, stderr } = await collect(swapped ? little : quotes, swapped ? quotes : little);
      const [large, small] = swapped ? [stderr, stdout] : [stdout, stderr];
      expect(small.omittedBytes).toBe(0);
      expect(encoded(large.text)).toBeGreaterThan(70_000);
      expect(encoded({ stdout, stderr })).toBeLessThan(limits.answerBytes);
    }
  });

  it("shows damaged text as text, and refers to its exact bytes", async () => {
    const bytes = Buffer.concat([Buffer.from("a long enough line of text, caf"), Buffer.of(0xe9, 0x0a)]);
    const { stdout } = await collect(bytes);
    expect(stdout.text).toBe("a long enough line of text, caf\ufffd\n");
    expect(stdout.omittedBytes).toBe(0);
    expect(await fullOf(stdout)).toEqual(bytes);
  });

  it("takes a real U+FFFD for what it is", async () => {
    const { stdout } = await collect("a real \ufffd in a line of text that is long enough\n");
    expect(stdout.full).toBeUndefined();
  });

  it("answers without reference when the store can't take the output", async () => {
    const broken: ArtifactStore = {
      ...artifacts,
      put: async (content) => {
        await content[Symbol.asyncIterator]().next();
        throw new ProviderError("no-space", "full");
      },
    };
    const collector = createOutputCollector({ artifacts: broken });
    for (let round = 0; round < 64; round += 1) await collector.add("stdout", Buffer.alloc(1024 * 1024, "x"));
    await collector.add("stdout", Buffer.from("\nEND"));
    const { stdout } = await collector.finish();
    expect(stdout.full).toBeUndefined();
    expect(stdout.text.endsWith("\nEND")).toBe(true);
    expect(stdout.totalBytes).toBe(64 * 1024 * 1024 + 4);
  });

  it("leaves nothing in the store of a call that is no longer followed", async () => {
    const own = join(directory, "abandoned");
    const collector = createOutputCollector({ artifacts: createLocalArtifactStore({ directory: own }) });
    await collector.add("stdout", Buffer.alloc(200_000, "x"));
    await collector.abandon();
    expect(await readdir(join(own, "tmp"))).toEqual([]);
    expect(await readdir(own)).toEqual(["tmp"]);
  });

  it("shows a cheap view while the command runs", async () => {
    const collector = createOutputCollector({ artifacts });
    await collector.add("stdout", Buffer.from("☕".repeat(20_000)));
    await collector.add("stderr", Buffer.from("why"));
    expect(collector.live()).toEqual({ stdout: 60_000, stderr: 3, tail: "why" });
    await collector.add("stdout", Buffer.from("end"));
    const { tail } = collector.live();
    expect(tail.endsWith("☕end")).toBe(true);
    expect(tail).not.toContain("\ufffd");
    expect(Buffer.byteLength(tail)).toBeLessThanOrEqual(2048);
    await collector.abandon();
  });

  it("accounts for every byte of any output, whatever the pieces", async () => {
    const output = fc
      .array(
        fc.constantFrom("a", "é", "☕", "🎉", "\n", "x".repeat(3000), "line\n".repeat(900), "ü".repeat(9000)),
        {
          maxLength: 25,
        },
      )
      .map((parts) => parts.join(""));
    await fc.assert(
      fc.asyncProperty(output, fc.integer({ min: 1, max: 20_000 }), async (whole, pieceBytes) => {
        const { stdout } = await collect(whole, "", Math.max(pieceBytes, Math.ceil(whole.length / 50)));
        expect(stdout.text).not.toContain("\ufffd");
        expect(stdout.totalBytes).toBe(Buffer.byteLength(whole));
        expect(stdout.omittedBytes).toBe(omittedByMarkers(stdout.text));
        for (const part of stretches(stdout.text)) expect(whole).toContain(part);
        if (stdout.omittedBytes === 0) expect(stdout.text).toBe(whole);
        else expect((await fullOf(stdout)).toString()).toBe(whole);
        for (const line of stdout.text.split("\n")) expect(Array.from(line).length).toBeLessThanOrEqual(2000);
        expect(stdout.text.split("\n").length).toBeLessThanOrEqual(2000 + 100);
      }),
      { numRuns: 60 },
    );
  }, 60_000);
});
