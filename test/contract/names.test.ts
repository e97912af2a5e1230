import { expect, it } from "vitest";
import * as names from "../../src/contract/names.js";

// Clients in other languages hold these as literals: a change here breaks them.
it("registered names stay what they are", () => {
  expect(names.sessionWorkflowType).toBe("sandboxSession");
  expect(names.defaultTaskQueue).toBe("holdfast");
  expect(names.hostTaskQueue("holdfast", "h1")).toBe("holdfast@h1");
  expect(names.controlTaskQueue("holdfast", "h1")).toBe("holdfast@h1/control");
  expect(Object.values(names.messageNames)).toEqual([
    "callTool",
    "awaitCall",
    "cancelCall",
    "stop",
    "resume",
    "delete",
    "extend",
    "setNetworkPolicy",
    "upload",
    "collectOutputs",
  ]);
  expect(Object.values(names.queryNames)).toEqual(["state", "call", "calls"]);
});

it("limits and defaults of the wire stay what they are", () => {
  expect(names.limits).toMatchObject({
    callIdChars: 200,
    inlineInputBytes: 32_768,
    answerBytes: 131_072,
    queryBytes: 262_144,
    rememberedCalls: 1000,
    queuedCalls: 500,
    heldUpdates: 8,
    waitMs: 30_000,
  });
  expect(names.defaultTimeouts).toEqual({
    idleMs: 900_000,
    stoppedTtlMs: 86_400_000,
    maxLifetimeMs: 604_800_000,
    startMs: 300_000,
    hostLossMs: 900_000,
  });
  expect(names.defaultMaxConcurrentCalls).toBe(8);
  expect(names.defaultStopGraceMs).toBe(10_000);
});
