import { describe, expect, it } from "vitest";
import { parseEngineTime } from "../../../src/providers/docker/engine-time.js";

describe("B38 [reap-created] the engine's times", () => {
  it.each([
    ["2026-01-15 10:30:00 +0800 CST", "2026-01-15T02:30:00.000Z"],
    ["2022-09-08 21:24:19 +0100 BST", "2022-09-08T20:24:19.000Z"],
    ["2026-01-15 10:30:00 -0330 NST", "2026-01-15T14:00:00.000Z"],
    ["2026-01-15T10:30:00.123456789Z", "2026-01-15T10:30:00.123Z"],
    ["2026-01-15T10:30:00+08:00", "2026-01-15T02:30:00.000Z"],
    ["2026-01-15 10:30:00.5 +0000 UTC", "2026-01-15T10:30:00.500Z"],
  ])("%s is %s", (text, iso) => {
    const timeMs = parseEngineTime(text);
    expect(timeMs).toBeDefined();
    expect(new Date(timeMs ?? 0).toISOString()).toBe(iso);
  });

  it.each([
    "",
    "0001-01-01 00:00:00 +0000 UTC",
    "0001-01-01T00:00:00Z",
    "1970-01-01T00:00:00Z",
    "soon",
    "2026",
    "5 hours ago",
    "2026-13-40T99:00:00Z",
  ])("%j has no age", (text) => {
    expect(parseEngineTime(text)).toBeUndefined();
  });
});
