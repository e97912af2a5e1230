import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  decodeLabels,
  encodeLabels,
  encodeLabelValue,
  type ResourceLabels,
} from "../../src/providers/labels.js";

const labels: ResourceLabels = {
  owner: "me",
  role: "session",
  hostId: "h1",
  createdAtMs: Date.parse("2026-01-15T02:30:00.123Z"),
  session: { sessionId: "s,1=2", runId: "r" },
  generation: { number: 2, key: "k" },
  templateKey: "t",
  custom: { team: "a,b=c" },
};

describe("labels", () => {
  it("B39 [reap-labels] values of any kind round-trip, and hold nothing that a listing takes apart", () => {
    const values = [
      "a,b=c",
      "x,dev.holdfast.session-id=OTHER",
      '"q"',
      "a\nb",
      "é",
      "",
      "x".repeat(4096),
      "'",
      "%41",
    ];
    for (const value of values) {
      const encoded = encodeLabels({ ...labels, owner: value || "o", custom: { v: value } });
      expect(decodeLabels(encoded)?.custom).toEqual({ v: value });
      expect(Object.values(encoded).join("")).not.toMatch(/[,="'\n\s]/);
    }
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), (value) => {
        const encoded = encodeLabels({ ...labels, session: { sessionId: value || "s", runId: "r" } });
        expect(decodeLabels(encoded)?.session?.sessionId).toBe(value || "s");
      }),
    );
  });

  it("gives every field back", () => {
    expect(decodeLabels(encodeLabels(labels))).toEqual(labels);
  });

  it("different values never look alike in the engine", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), fc.string({ unit: "grapheme" }), (a, b) => {
        expect(encodeLabelValue(a) === encodeLabelValue(b)).toBe(a === b);
      }),
    );
  });

  it("refuses half of a surrogate pair instead of changing it", () => {
    expect(() => encodeLabelValue("\ud800")).toThrow(expect.objectContaining({ code: "invalid-request" }));
  });

  it.each(["owner", "role", "host", "created-at", "session-id", "run-id", "generation", "generation-key"])(
    "a session without its %s is half-labelled",
    (name) => {
      const { [`dev.holdfast.${name}`]: dropped, ...rest } = encodeLabels(labels);
      expect(dropped).toBeDefined();
      expect(decodeLabels(rest)).toBeUndefined();
    },
  );

  it.each([
    ["role", "janitor"],
    ["generation", "0"],
    ["generation", "x"],
    ["created-at", "yesterday"],
    ["owner", "%zz"],
  ])("a %s of %j is not ours", (name, value) => {
    expect(decodeLabels({ ...encodeLabels(labels), [`dev.holdfast.${name}`]: value })).toBeUndefined();
  });
});
