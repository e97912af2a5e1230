/** Reads `go test -json`, prints each test's result and the output of what failed, and counts as the npm tests do. */
import { writeFileSync } from "node:fs";
import { createInterface } from "node:readline";

const summary = { passed: 0, failed: 0, skipped: [] };
const output = new Map();

for await (const line of createInterface({ input: process.stdin })) {
  const event = parse(line);
  if (event === undefined) {
    // Not from a test: go's own words, for example that it doesn't compile.
    console.log(line);
    continue;
  }
  const { Action: action, Package: name = event.ImportPath, Test: test, Output: text = "" } = event;
  const key = `${name} ${test ?? ""}`.trim();
  if (action.endsWith("output")) output.set(key, (output.get(key) ?? "") + text);
  // A package has no count of its own, unless it fails by itself: it doesn't compile, or it crashed.
  if (action === "pass" && test !== undefined) summary.passed += 1;
  if (action === "skip" && test !== undefined) {
    summary.skipped.push({ name: key, reason: (output.get(key) ?? "").trim() });
  }
  if (action === "fail" || action === "build-fail") {
    summary.failed += 1;
    console.log(`FAIL ${key}\n${output.get(key) ?? ""}`);
  } else if (action === "pass") {
    console.log(`ok   ${key} ${event.Elapsed ?? 0} s`);
  }
}
for (const { name, reason } of summary.skipped) console.log(`skipped: ${name}\n  because ${reason}`);
console.log(
  `guest tests: ${summary.passed} passed, ${summary.failed} failed, ${summary.skipped.length} skipped`,
);
if (process.env.HOLDFAST_TEST_SUMMARY !== undefined) {
  writeFileSync(process.env.HOLDFAST_TEST_SUMMARY, `${JSON.stringify(summary)}\n`);
}
// None at all is no success: the tests were not found.
process.exitCode = summary.failed === 0 && summary.passed > 0 ? 0 : 1;

function parse(line) {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
