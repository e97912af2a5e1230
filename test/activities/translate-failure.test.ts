import { ApplicationFailure } from "@temporalio/common";
import { describe, expect, it } from "vitest";
import { translateFailure } from "../../src/activities/translate-failure.js";
import { ProviderError } from "../../src/providers/errors.js";

function translated(error: unknown, rule = { attempt: 1 }): ApplicationFailure {
  const failure = translateFailure(error, rule);
  if (failure instanceof ApplicationFailure) return failure;
  throw new Error("not an application failure", { cause: failure });
}

describe("the translation of failures", () => {
  it("carries the code as type and the whole failure, and retries infrastructure only", () => {
    const denied = translated(new ProviderError("denied", "no", { hint: "ask", field: "path" }));
    expect(denied).toMatchObject({ type: "denied", nonRetryable: true });
    expect(denied.details).toEqual([{ code: "denied", message: "no", hint: "ask", field: "path" }]);
    expect(translated(new ProviderError("unavailable", "away")).nonRetryable).toBe(false);
    expect(translated(new Error("bug")).nonRetryable).toBe(false);
    expect(translated(new Error("bug"), { attempt: 5 })).toMatchObject({
      type: "internal",
      nonRetryable: true,
    });
  });

  it("bounds what an engine says, keeping its beginning and its end", () => {
    const words = `first ${"x".repeat(1_000_000)} last`;
    for (const error of [new ProviderError("template-failed", words, { hint: words }), new Error(words)]) {
      const failure = translated(error);
      const text = JSON.stringify([failure.message, failure.details]);
      expect(text.length).toBeLessThan(16_000);
      expect(failure.message).toMatch(/^first .* last$/);
    }
  });
});
