import { GracefulShutdownPeriodExpiredError } from "@temporalio/worker";
import { expect, it, vi } from "vitest";
import { reportError } from "../../src/cli/reporter.js";
import { shutdownForced } from "../../src/cli/shutdown-forced.js";

it("a worker that was cut off ends with 7, and says that nothing is lost instead of a stack", () => {
  const said: string[] = [];
  const write = vi.spyOn(process.stderr, "write").mockImplementation((text) => said.push(String(text)) > 0);
  const forced = shutdownForced(new GracefulShutdownPeriodExpiredError("Timed out"));
  expect(reportError(forced, { json: false })).toBe(7);
  write.mockRestore();
  expect(said.join("")).toMatch(/^holdfast: The worker was cut off: .+\n {2}Sessions are kept, .+\n$/);
  expect(shutdownForced(new Error("other"))).toBeUndefined();
});
