import { describe } from "vitest";
import { callCases } from "./suite-calls.js";
import { fileCases } from "./suite-files.js";
import { lifecycleCases } from "./suite-lifecycle.js";
import { outputCases } from "./suite-output.js";
import type { Subject } from "./subject.js";

/**
 * The behaviour of `Provider` and `Channel`, the same for each of them. A provider runs it from a test file of
 * its own; what it can't do is skipped by name, with a reason.
 */
export function describeProvider(subject: Subject): void {
  describe(`provider ${subject.name}`, () => {
    describe("life of a sandbox", () => {
      lifecycleCases(subject);
    });
    describe("calls", () => {
      callCases(subject);
    });
    describe("output", () => {
      outputCases(subject);
    });
    describe("files", () => {
      fileCases(subject);
    });
  });
}
