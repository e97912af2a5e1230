import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  failureCodes,
  limits,
  messageNames,
  providerNames,
  queryNames,
  sessionStatuses,
  sessionWorkflowType,
  toolNames,
} from "../../src/contract/names.js";
import { outcomeSchema } from "../../src/contract/call.js";

const text = readFileSync(join(import.meta.dirname, "../../docs/protocol.md"), "utf8");
const kinds = outcomeSchema.options.map(({ shape }) => [...shape.kind.values][0] ?? "");

describe("docs/protocol.md", () => {
  it.each([
    ["code", failureCodes],
    ["message", Object.values(messageNames)],
    ["query", Object.values(queryNames)],
    ["outcome", kinds],
    ["workflow type", [sessionWorkflowType]],
  ])("names every %s as code", (_kind, names) => {
    expect(names.filter((name) => !text.includes(`\`${name}\``))).toEqual([]);
  });

  it.each([
    ["status", sessionStatuses],
    ["provider", providerNames],
    ["tool", toolNames],
  ])("names every %s", (_kind, names) => {
    expect(names.filter((name) => !new RegExp(`\\b${name}\\b`).test(text))).toEqual([]);
  });

  it("gives the limits that are enforced", () => {
    for (const number of [limits.waitMs, limits.durationMs, limits.rememberedCalls, limits.rejectedKept]) {
      expect(text).toContain(number.toLocaleString("en"));
    }
    expect(text).toContain(`${limits.callIdChars} characters`);
    expect(text).toContain(`holds at most ${limits.heldUpdates} updates open`);
    expect(text).toContain(`${limits.queuedCalls} calls`);
    expect(text).toContain(`${limits.labels} labels, ${limits.labelsBytes / 1024} KiB`);
  });
});
