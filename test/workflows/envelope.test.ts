import { describe, expect, it } from "vitest";
import fc from "fast-check";
import { limits } from "../../src/contract/names.js";
import {
  checkAwait,
  checkCall,
  checkCallIdOf,
  checkExtend,
  checkNetwork,
  checkStop,
  replyAddress,
} from "../../src/workflows/session/envelope.js";

const good = { callId: "c1", tool: "bash", input: { command: "true" } };

describe("envelope of a call", () => {
  it("takes what the wire allows, with null as absent", () => {
    const nulls = { ...good, timeoutMs: null, replyTo: null, waitMs: null, unknown: 1 };
    expect(checkCall(nulls)).toEqual({ ok: true, value: { ...good, waitMs: limits.waitMs } });
    const full = { ...good, timeoutMs: 5, waitMs: 0, replyTo: { workflowId: "w", signal: "s" } };
    expect(checkCall(full)).toEqual({ ok: true, value: full });
  });

  it.each([
    ["call", null],
    ["call", "text"],
    ["call", [good]],
    ["callId", { ...good, callId: "" }],
    ["callId", { ...good, callId: 7 }],
    ["callId", { ...good, callId: "x".repeat(201) }],
    ["tool", { ...good, tool: "nonsense" }],
    ["tool", { ...good, tool: "constructor" }],
    ["tool", { callId: "c1", input: {} }],
    ["input", { ...good, input: null }],
    ["input", { ...good, input: ["x"] }],
    ["timeoutMs", { ...good, timeoutMs: 0 }],
    ["timeoutMs", { ...good, timeoutMs: -1 }],
    ["timeoutMs", { ...good, timeoutMs: "5" }],
    ["timeoutMs", { ...good, timeoutMs: 1.5 }],
    ["waitMs", { ...good, waitMs: 30_001 }],
    ["replyTo", { ...good, replyTo: { workflowId: "w" } }],
    ["replyTo", { ...good, replyTo: { workflowId: "", signal: "s" } }],
    // 1,200 bytes: the server refuses the workflow task that names such an id.
    ["replyTo", { ...good, replyTo: { workflowId: "é".repeat(600), signal: "s" } }],
  ])("names %s when it refuses %j", (field, value) => {
    expect(checkCall(value)).toMatchObject({ ok: false, failure: { code: "invalid-request", field } });
  });

  it("measures input by its encoding, and says where large input goes", () => {
    const input = { command: "\0".repeat(6_000) };
    const refused = checkCall({ ...good, input });
    expect(refused).toMatchObject({ ok: false, failure: { code: "too-large", field: "input" } });
    expect(!refused.ok && refused.failure.hint).toContain("ref");
  });

  it("refuses what is nested too deep before anything walks it", () => {
    const nested = (depth: number): unknown => {
      const json = `{"callId":"d","tool":"bash","input":{"a":${"[".repeat(depth)}${"]".repeat(depth)}}}`;
      return JSON.parse(json);
    };
    expect(checkCall(nested(50)).ok).toBe(true);
    for (const depth of [200, 15_000, 200_000]) {
      expect(checkCall(nested(depth))).toMatchObject({ ok: false, failure: { code: "invalid-request" } });
      expect(replyAddress(nested(depth))).toBeUndefined();
    }
  });

  it("throws at nothing, whatever comes in", () => {
    const checks = [checkCall, checkAwait, checkCallIdOf, checkStop, checkExtend, checkNetwork, replyAddress];
    fc.assert(
      fc.property(fc.anything({ withNullPrototype: true, withBigInt: false }), (value) => {
        for (const check of checks) check(value);
      }),
    );
  });
});

describe("control messages", () => {
  it("refuse what makes no sense, by field", () => {
    expect(checkStop({ graceMs: -1 })).toMatchObject({ failure: { field: "graceMs" } });
    expect(checkStop({ cancelQueued: "yes" })).toMatchObject({ failure: { field: "cancelQueued" } });
    expect(checkStop(null)).toMatchObject({ ok: true });
    expect(checkExtend({ idleMs: 0 })).toMatchObject({ failure: { field: "idleMs" } });
    expect(checkExtend({ idleMs: 1, maxLifetimeMs: null })).toEqual({ ok: true, value: { idleMs: 1 } });
    expect(checkNetwork({ network: "open" })).toMatchObject({ failure: { field: "network" } });
    expect(checkNetwork({ network: "allow-all" })).toEqual({ ok: true, value: { network: "allow-all" } });
    expect(checkAwait({ callId: "x", waitMs: -1 })).toMatchObject({ failure: { field: "waitMs" } });
  });
});
