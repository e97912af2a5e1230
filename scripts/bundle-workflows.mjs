/**
 * Bundles the workflow code once, at build time: workers start from `dist/workflow-bundle.js` without
 * webpack, and every worker of a release runs the same code.
 */
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { readFile, readdir, rename, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const workflowsPath = join(root, "dist/workflows/index.js");
const bundlePath = join(root, "dist/workflow-bundle.js");
const keyPath = join(root, "dist/workflow-bundle.key");

if (!existsSync(workflowsPath)) {
  console.log("bundle-workflows: skipped, there is no dist/workflows/index.js yet");
} else {
  const key = await inputKey();
  const known = existsSync(bundlePath) ? await readFile(keyPath, "utf8").catch(() => "") : "";
  if (known === key) console.log("bundle-workflows: dist/workflow-bundle.js is up to date");
  else await bundle(key);
}

async function bundle(key) {
  // Loaded late: it costs a second, and most builds find the bundle up to date.
  const { bundleWorkflowCode, DefaultLogger } = await import("@temporalio/worker");
  const { code } = await bundleWorkflowCode({ workflowsPath, logger: new DefaultLogger("WARN") });
  // Renamed into place: a worker that starts during a build reads the old bundle or the new one, whole.
  const temporary = `${bundlePath}.${process.pid}.tmp`;
  await writeFile(temporary, code);
  await rename(temporary, bundlePath);
  await writeFile(keyPath, key);
  console.log(`bundle-workflows: wrote dist/workflow-bundle.js (${Math.round(code.length / 1024)} KB)`);
}

/** Hash of everything the bundle is made from: the compiled code that workflows may import, and the SDK. */
async function inputKey() {
  const hash = createHash("sha256");
  const require = createRequire(import.meta.url);
  hash.update(await readFile(require.resolve("@temporalio/workflow/package.json")));
  const names = await readdir(join(root, "dist/workflows"), { recursive: true });
  const compiled = names.filter((name) => name.endsWith(".js")).map((name) => `dist/workflows/${name}`);
  // The import rules leave workflows nothing else of our own at run time.
  for (const file of [...compiled.sort(), "dist/contract/names.js"]) {
    hash.update(`${file}\n`).update(await readFile(join(root, file)));
  }
  return hash.digest("hex");
}
