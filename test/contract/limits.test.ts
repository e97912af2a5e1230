import { describe, expect, it } from "vitest";
import { envSchema, labelsSchema } from "../../src/contract/environment.js";
import { limits } from "../../src/contract/names.js";
import { parse } from "../../src/contract/parse.js";
import { wireSchema, type Json } from "./fixtures.js";

const fieldOf = (schema: Parameters<typeof parse>[0], value: Json): string | undefined => {
  const parsed = parse(schema, value, "value");
  return parsed.ok ? undefined : parsed.failure.field;
};
const spec = (more: Json): Json => ({ provider: "just-bash", ...(more as object) });

describe("limits of env", () => {
  it("B48 [file-argmax] an entry at the kernel's 128 KiB is refused by name, before anything starts", () => {
    for (const valueBytes of [131_072 - "BIG".length - 1, 131_072, 200_000]) {
      expect(fieldOf(envSchema, { SMALL: "x", BIG: "x".repeat(valueBytes) })).toBe("value.BIG");
    }
  });

  it("counts all variables together, encoded", () => {
    const room = limits.envBytes - '{"A":"","B":""}'.length;
    const fill = (sizeBytes: number): Json => ({ A: "x".repeat(room - 60_000), B: "y".repeat(sizeBytes) });
    expect(fieldOf(envSchema, fill(60_000))).toBeUndefined();
    expect(fieldOf(envSchema, fill(60_001))).toBe("value");
    // 30,000 control characters are 180,000 bytes of JSON.
    expect(fieldOf(envSchema, { A: "\u0001".repeat(30_000) })).toBe("value");
    expect(fieldOf(envSchema, { A: "é".repeat(65_535) })).toBe("value.A");
  });

  it("holds for sessions, templates and single calls", () => {
    const env = { A: "x".repeat(70_000), B: "x".repeat(70_000) };
    expect(fieldOf(wireSchema("session-spec"), spec({ env }))).toBe("value.env");
    expect(fieldOf(wireSchema("session-spec"), spec({ template: { env } }))).toBe("value.template.env");
    expect(fieldOf(wireSchema("tool-bash-input"), { command: "true", env })).toBe("value.env");
  });
});

describe("limits of labels", () => {
  it("B39 [reap-labels] keeps values with commas, quotes, newlines and 4 KB exactly", () => {
    const labels = {
      a: "a,b=c",
      b: "x,dev.holdfast.session=OTHER",
      c: '"q"',
      d: "\n",
      e: "é",
      f: "",
      g: "x".repeat(4096),
    };
    expect(parse(labelsSchema, labels, "labels")).toEqual({ ok: true, value: labels });
  });

  it("bounds their number and their size in all", () => {
    const many = (count: number, value: string): Json =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, value]));
    expect(fieldOf(labelsSchema, many(64, "x"))).toBeUndefined();
    expect(fieldOf(labelsSchema, many(65, "x"))).toBe("value");
    expect(fieldOf(labelsSchema, many(17, "x".repeat(4096)))).toBe("value");
    expect(fieldOf(wireSchema("session-spec"), spec({ labels: many(65, "x") }))).toBe("value.labels");
  });
});

describe("limits of messages", () => {
  it("takes 500 uploads in one request and refuses 501", () => {
    const file = { path: "a", key: "sha256/aa", sha256: "a".repeat(64), sizeBytes: 1 };
    const files = (count: number): Json => ({ files: Array.from({ length: count }, () => file) });
    expect(fieldOf(wireSchema("upload"), files(500))).toBeUndefined();
    expect(fieldOf(wireSchema("upload"), files(501))).toBe("value.files");
  });

  it("takes 200 characters of call id, and the longest duration that every timer can hold", () => {
    const call = (more: object): Json => ({ callId: "c", tool: "ls", input: {}, ...more });
    const schema = wireSchema("call-tool");
    expect(fieldOf(schema, call({ callId: "é".repeat(200) }))).toBeUndefined();
    expect(fieldOf(schema, call({ timeoutMs: limits.durationMs }))).toBeUndefined();
    expect(fieldOf(schema, call({ timeoutMs: limits.durationMs + 1 }))).toBe("value.timeoutMs");
    // Nanoseconds in a guest's signed 64 bits, seconds in the server's duration.
    expect(limits.durationMs * 1e6).toBeLessThan(2 ** 63);
    expect(limits.durationMs / 1000).toBeLessThan(315_576_000_000);
  });
});
