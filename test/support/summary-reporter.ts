import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import type { Reporter, TestModule } from "vitest/node";

/** What `HOLDFAST_TEST_SUMMARY` (a file) gets, for scripts that count. */
interface Summary {
  passed: number;
  failed: number;
  skipped: { name: string; reason: string }[];
}

/** Names every skipped test with its reason, and counts; a module that doesn't load counts as failed. */
export default class SummaryReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[]): void {
    const summary: Summary = { passed: 0, failed: errors.length, skipped: [] };
    for (const module of modules) count(module, summary);
    print(summary);
    const file = process.env.HOLDFAST_TEST_SUMMARY;
    if (file === undefined) return;
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, `${JSON.stringify(summary)}\n`);
  }
}

function count(module: TestModule, summary: Summary): void {
  // Errors outside of tests: an import that fails, a hook that throws.
  const suites = [module, ...module.children.allSuites()];
  summary.failed += suites.filter((suite) => suite.errors().length > 0).length;
  for (const test of module.children.allTests()) {
    const result = test.result();
    if (result.state === "passed") summary.passed += 1;
    if (result.state === "failed") summary.failed += 1;
    if (result.state === "skipped") {
      summary.skipped.push({ name: test.fullName, reason: result.note ?? "(no reason given)" });
    }
  }
}

function print({ passed, failed, skipped }: Summary): void {
  const lines = skipped.map(({ name, reason }) => `  skipped: ${name}\n           because ${reason}`);
  lines.push(`  tests: ${passed} passed, ${failed} failed, ${skipped.length} skipped`);
  process.stdout.write(`\n${lines.join("\n")}\n`);
}
