import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { inputRefSchema } from "../../src/contract/call.js";
import { limits } from "../../src/contract/names.js";
import { parse } from "../../src/contract/parse.js";
import { resolveSpec, sessionSpecSchema } from "../../src/contract/spec.js";
import { changed, fixture, schemaNames, wireSchema, type Json } from "./fixtures.js";

const anyJson = fc.jsonValue({ maxDepth: 6 }) as fc.Arbitrary<Json>;
const anySchema = fc.constantFrom(...schemaNames);

describe("parse", () => {
  it("answers every JSON value with a value or a typed failure that names the field", () => {
    fc.assert(
      fc.property(anySchema, anyJson, (schema, json) => {
        const parsed = parse(wireSchema(schema), json, "root");
        if (parsed.ok) return;
        expect(parsed.failure.code).toBe("invalid-request");
        expect(parsed.failure.field).toMatch(/^root/);
        expect(parsed.failure.message.startsWith(`${parsed.failure.field}: `)).toBe(true);
        expect(parsed.failure.message.length).toBeLessThan(1000);
      }),
      { numRuns: 2000 },
    );
  });

  it("reads what it returned as the same again", () => {
    fc.assert(
      fc.property(
        fc.constantFrom("everything", "smallest", "dockerfile"),
        anyJson,
        fc.nat(12),
        (name, json, at) => {
          const spec = fixture("session-spec", name) as object;
          const key = Object.keys(fixture("session-spec", "everything") as object)[at] ?? "later";
          const first = parse(sessionSpecSchema, { ...spec, [key]: json }, "spec");
          if (first.ok) expect(parse(sessionSpecSchema, first.value, "spec")).toEqual(first);
        },
      ),
      { numRuns: 1000 },
    );
  });

  it("takes null for absent, at every depth, and in records", () => {
    const everything = fixture("session-spec", "everything");
    const nulled = ["network", "limits", "user", "labels"].reduce(
      (spec, field) => changed(spec, [field], null),
      changed(changed(everything, ["timeouts", "idleMs"], null), ["env", "EMPTY"], null),
    );
    const parsed = parse(sessionSpecSchema, nulled, "spec");
    expect(parsed.ok).toBe(true);
    if (!parsed.ok) return;
    expect(parsed.value.env).not.toHaveProperty("EMPTY");
    expect(parsed.value.timeouts).not.toHaveProperty("idleMs");
    expect(resolveSpec(parsed.value)).toMatchObject({
      network: "deny-all",
      user: "sandbox",
      timeouts: { idleMs: 900_000, startMs: 300_000 },
      limits: { pids: 512, cpus: 1 },
      labels: {},
    });
  });

  it("keeps null inside an array a mistake, and names its place", () => {
    const spec = changed(fixture("session-spec", "everything"), ["template", "setup"], ["ok", null]);
    expect(parse(sessionSpecSchema, spec, "spec")).toMatchObject({
      failure: { field: "spec.template.setup.1" },
    });
  });

  it("refuses a value nested deeper than any stack, instead of throwing", () => {
    const deep = (levels: number): Json => JSON.parse("[".repeat(levels) + "]".repeat(levels)) as Json;
    const call = (levels: number): Json => ({ callId: "c", tool: "ls", input: { x: deep(levels) } });
    const schema = wireSchema("call-tool");
    expect(parse(schema, call(limits.nesting - 2), "call").ok).toBe(true);
    for (const levels of [limits.nesting - 1, 200_000]) {
      expect(parse(schema, call(levels), "call")).toMatchObject({ failure: { field: "call" } });
    }
  });

  it("bounds the name of a field that the sender chose", () => {
    const parsed = parse(
      sessionSpecSchema,
      { provider: "just-bash", env: { ["-".repeat(1e6)]: "x" } },
      "spec",
    );
    expect(parsed.ok).toBe(false);
    if (!parsed.ok) expect(JSON.stringify(parsed.failure).length).toBeLessThan(2000);
  });

  it("knows a reference to an input from a write that has a ref", () => {
    const ref = fixture("artifact-ref", "bare");
    expect(parse(inputRefSchema, { ref }, "input").ok).toBe(true);
    expect(parse(inputRefSchema, { ref, path: null }, "input").ok).toBe(true);
    expect(parse(inputRefSchema, { ref, path: "a.txt" }, "input").ok).toBe(false);
  });
});
