import { execa } from "execa";

/**
 * Builds `dist` for tests that start real workers and the real CLI. Type errors don't stop the tests:
 * `npm run typecheck` reports them, and tsc emits all the same.
 */
export async function buildDist(): Promise<void> {
  const tsc = await execa("npx", ["tsc", "-p", "."], { reject: false, all: true });
  if (tsc.exitCode !== 0)
    process.stderr.write(`build: type errors, tests run what was emitted\n${tsc.all}\n`);
  await execa("node", ["scripts/bundle-workflows.mjs"], { stdout: "ignore", stderr: "inherit" });
}
