import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { execa } from "execa";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const require = createRequire(import.meta.url);
const { forbidden } = require("../../.dependency-cruiser.cjs") as { forbidden: { name: string }[] };

/** Each breaks the rule: a file, and the import in it. */
const broken: [rule: string, file: string, code: string][] = [
  ["no-cycles", "src/exec/bad-cycle.ts", 'import "./cycle-end-bad.js";'],
  ["no-unresolvable", "src/tools/bad-nowhere.ts", 'import "./nowhere.js";'],
  ["src-without-development-dependencies", "src/client/bad-dev.ts", 'import "fast-check";'],
  ["contract-imports-zod-only", "src/contract/bad-own.ts", 'import type { X } from "../tools/good.js";'],
  ["contract-imports-zod-only", "src/contract/bad-package.ts", 'import "execa";'],
  ["contract-imports-zod-only", "src/contract/bad-core.ts", 'import "node:fs";'],
  ["names-import-nothing", "src/contract/names.ts", 'import type { X } from "./good.js";'],
  ["workflows-know-only-workflows", "src/workflows/bad-zod.ts", 'import "zod";'],
  ["workflows-know-only-workflows", "src/workflows/bad-core.ts", 'import "node:crypto";'],
  ["workflows-know-only-workflows", "src/workflows/bad-client.ts", 'import "@temporalio/client";'],
  [
    "workflows-know-only-workflows",
    "src/workflows/session/bad-activities.ts",
    'import type { X } from "../../activities/good.js";',
  ],
  [
    "workflows-import-contract-as-types",
    "src/workflows/bad-schema.ts",
    'import { x } from "../contract/good.js";',
  ],
  [
    "activities-know-the-provider-interface",
    "src/activities/bad-docker.ts",
    'import type { X } from "../providers/docker/good.js";',
  ],
  ["activities-know-the-provider-interface", "src/activities/bad-config.ts", 'import "../config.js";'],
  [
    "activities-without-workflow-or-client-packages",
    "src/activities/bad-workflow.ts",
    'import "@temporalio/workflow";',
  ],
  ["providers-know-no-other-provider", "src/providers/docker/bad-other.ts", 'import "../just-bash/good.js";'],
  ["providers-know-no-other-provider", "src/providers/docker/bad-tools.ts", 'import "../../tools/good.js";'],
  ["providers-know-no-other-provider", "src/providers/docker/bad-registry.ts", 'import "../registry.js";'],
  ["engine-side-without-temporal", "src/providers/docker/bad-temporal.ts", 'import "@temporalio/activity";'],
  ["engine-side-without-temporal", "src/tools/bad-temporal.ts", 'import "@temporalio/common";'],
  ["provider-interface-knows-contract-only", "src/providers/errors.ts", 'import "./docker/good.js";'],
  ["provider-interface-knows-contract-only", "src/providers/registry.ts", 'import "./docker/good.js";'],
  ["tools-work-over-the-interface", "src/tools/bad-engine.ts", 'import "../providers/docker/good.js";'],
  ["exec-works-over-the-interface", "src/exec/bad-tool.ts", 'import "../tools/good.js";'],
  ["artifacts-know-contract-only", "src/artifacts/bad-provider.ts", 'import "../providers/provider.js";'],
  ["client-knows-contract-and-artifacts", "src/client/bad-worker.ts", 'import "../activities/good.js";'],
  ["dev-server-knows-config", "src/dev-server/bad-worker.ts", 'import "../worker.js";'],
  ["config-knows-names-and-errors", "src/config.ts", 'import "./exec/good.js";'],
  ["cli-works-through-client-and-worker", "src/cli/bad-provider.ts", 'import "../providers/docker/good.js";'],
  ["only-the-worker-knows-everything", "src/bad-root.ts", 'import "./providers/docker/good.js";'],
];

/** What the rules allow, edge by edge: a rule that is too wide fails here. */
const allowed: [file: string, code: string][] = [
  ["src/contract/good.ts", 'import "zod"; export type X = 1; export const x = 1;'],
  [
    "src/workflows/good.ts",
    'import "@temporalio/workflow"; import "@temporalio/common"; import type { X } from "../contract/good.js";' +
      ' import "../contract/names.js"; export type Y = X;',
  ],
  [
    "src/activities/good.ts",
    'import "@temporalio/activity"; import "../providers/provider.js"; import "../tools/good.js"; export type X = 1;',
  ],
  ["src/providers/provider.ts", 'import "../contract/good.js";'],
  ["src/host-secrets.ts", 'import type { X } from "./exec/good.js"; export type Y = X;'],
  [
    "src/providers/docker/good.ts",
    'import "execa"; import "node:fs"; import "../provider.js"; import "../../exec/good.js"; export type X = 1;',
  ],
  ["src/providers/just-bash/good.ts", 'import "just-bash"; import "../provider.js";'],
  ["src/tools/good.ts", 'import "zod"; import "../providers/provider.js"; export type X = 1;'],
  ["src/exec/good.ts", 'import "../providers/provider.js"; export type X = 1;'],
  ["src/exec/cycle-end-bad.ts", 'import "./bad-cycle.js";'],
  ["src/artifacts/good.ts", 'import "../contract/good.js";'],
  [
    "src/client/good.ts",
    'import "@temporalio/client"; import "../contract/good.js"; import "../artifacts/good.js";',
  ],
  ["src/dev-server/good.ts", 'import "../contract/good.js"; import "./other.js";'],
  ["src/dev-server/other.ts", "export {};"],
  ["src/host-id.ts", 'import "./contract/names.js";'],
  [
    "src/cli/good.ts",
    'import "citty"; import "../client/good.js"; import "../worker.js"; import "../host-id.js";',
  ],
  [
    "src/worker.ts",
    'import "@temporalio/worker"; import "./activities/good.js"; import "./providers/docker/good.js"; import "./host-id.js";',
  ],
  ["src/index.ts", 'import "./worker.js"; import "./client/good.js";'],
];

interface Violation {
  from: string;
  rule: { name: string };
}

describe("import rules", () => {
  const root = join(import.meta.dirname, "../..");
  let folder: string;
  let violations: Violation[];

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "holdfast-imports-"));
    await symlink(join(root, "node_modules"), join(folder, "node_modules"));
    for (const file of ["package.json", "tsconfig.json"]) await cp(join(root, file), join(folder, file));
    for (const [file, code] of [...broken.map(([, ...rest]) => rest), ...allowed]) {
      await mkdir(dirname(join(folder, file)), { recursive: true });
      await writeFile(join(folder, file), `${code}\n`);
    }
    const args = ["--config", join(root, ".dependency-cruiser.cjs"), "--output-type", "json", "src"];
    const { stdout } = await execa("node_modules/.bin/depcruise", args, { cwd: folder, reject: false });
    violations = (JSON.parse(stdout) as { summary: { violations: Violation[] } }).summary.violations;
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  it.each(broken)("%s refuses %s", (rule, file) => {
    expect(violations.filter(({ from }) => from === file).map((violation) => violation.rule.name)).toContain(
      rule,
    );
  });

  it("allows what the layers need of each other", () => {
    const files = allowed.map(([file]) => file).filter((file) => !file.includes("bad"));
    expect(violations.filter(({ from }) => files.includes(from))).toEqual([]);
  });

  it("proves every rule", () => {
    expect(new Set(broken.map(([rule]) => rule))).toEqual(new Set(forbidden.map(({ name }) => name)));
  });
});
