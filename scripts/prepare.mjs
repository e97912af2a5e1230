/**
 * npm's `prepare`: builds after `npm ci`, so that the CLI works at once. Without the development
 * dependencies (`npm ci --omit=dev`, or as somebody's dependency) there is nothing to build with, and the
 * package already carries `dist`.
 */
import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";

const require = createRequire(import.meta.url);
try {
  require.resolve("typescript/package.json");
} catch {
  console.log("prepare: skipped, the development dependencies are not installed");
  process.exit(0);
}
const { status } = spawnSync("npm", ["run", "--silent", "build"], { stdio: "inherit" });
process.exit(status ?? 1);
