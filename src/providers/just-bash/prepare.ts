import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Artifact } from "../../contract/sandbox.js";
import type { ResolvedSpec } from "../../contract/spec.js";
import type { OperationContext } from "../provider.js";
import { templateKey } from "../template-key.js";
import { check } from "./check.js";
import { readJson } from "./durable-file.js";
import type { Host } from "./host.js";
import { templateMetaSchema, type TemplateMeta } from "./meta.js";
import { runSetup } from "./setup.js";
import { place } from "./staging.js";

/** Builds the template directory, or reuses it: setup commands run once in it, before it gets its name. */
export async function prepare(host: Host, spec: ResolvedSpec, context: OperationContext): Promise<Artifact> {
  check(spec);
  const key = templateKey({ provider: "just-bash", spec });
  const artifact: Artifact = {
    version: 1,
    provider: "just-bash",
    hostId: host.hostId,
    templateKey: key,
    data: {},
  };
  if (await findTemplate(host, key)) return artifact;
  const meta: TemplateMeta = {
    version: 1,
    role: "template",
    owner: host.owner,
    createdAtMs: Date.now(),
    templateKey: key,
  };
  await place(host, join(host.layout.templates, key), meta, async (directory) => {
    context.signal.throwIfAborted();
    const root = join(directory, "root");
    for (const path of [
      spec.workspace,
      "/mnt/session/uploads",
      "/mnt/session/outputs",
      "/home/sandbox",
      "/tmp",
    ]) {
      await mkdir(join(root, path), { recursive: true, mode: 0o755 });
    }
    await runSetup({ host, spec, directory, context });
  });
  return artifact;
}

export async function findTemplate(host: Host, key: string): Promise<boolean> {
  const path = join(host.layout.templates, key, "meta.json");
  return (await readJson(path, templateMetaSchema, "template record")) !== undefined;
}
