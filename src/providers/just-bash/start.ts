import { randomUUID } from "node:crypto";
import { constants } from "node:fs";
import { cp, mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Handle } from "../../contract/sandbox.js";
import { ProviderError } from "../errors.js";
import { generationKey } from "../generation-key.js";
import type { OperationContext, StartRequest } from "../provider.js";
import { templateKey } from "../template-key.js";
import { check } from "./check.js";
import { readJson, replaceJson } from "./durable-file.js";
import type { Host } from "./host.js";
import { removalName, sessionName, sessionPaths } from "./layout.js";
import { handleOf, readSessionMeta, removalMetaSchema, type SessionMeta } from "./meta.js";
import { findTemplate } from "./prepare.js";
import { removeDirectory } from "./remove.js";
import { place } from "./staging.js";

/** Copies the template into the session's directory, or adopts what an earlier start of this generation made. */
export async function start(host: Host, request: StartRequest, context: OperationContext): Promise<Handle> {
  check(request.spec);
  const key = templateKey({ provider: "just-bash", spec: request.spec });
  checkArtifact(host, request, key);
  const meta = newMeta(host, request, key);
  const name = sessionName(host.owner, request.session, request.generation);
  const directory = join(host.layout.sessions, name);
  await refuseRemoved(host, request);

  const existing = await readSessionMeta(directory);
  if (existing !== undefined) return adopt(host, name, existing, meta);

  if (!(await findTemplate(host, key))) {
    throw new ProviderError("template-not-provisioned", `template ${key} is not on host ${host.hostId}`, {
      hint: "Prepare it first, then start again.",
    });
  }
  context.signal.throwIfAborted();
  context.onProgress("copying the template");
  const made = await place(host, directory, meta, async (staging) => {
    const paths = sessionPaths(staging);
    await cp(join(host.layout.templates, key, "root"), paths.root, {
      recursive: true,
      verbatimSymlinks: true,
      preserveTimestamps: true,
      mode: constants.COPYFILE_FICLONE,
    });
    await mkdir(paths.calls, { mode: 0o700 });
    context.signal.throwIfAborted();
  });
  // A removal writes its mark before it looks for directories, and this looks for the mark after making one:
  // whichever comes second sees the other.
  try {
    await refuseRemoved(host, request);
    context.signal.throwIfAborted();
  } catch (error) {
    if (made) await removeDirectory(host, directory);
    throw error;
  }
  const winner = await readSessionMeta(directory);
  if (winner === undefined) throw removed(request);
  return adopt(host, name, winner, meta);
}

function newMeta(host: Host, request: StartRequest, key: string): SessionMeta {
  const { session, generation, spec } = request;
  return {
    version: 1,
    role: "session",
    owner: host.owner,
    createdAtMs: Date.now(),
    session: { sessionId: session.sessionId, runId: session.runId },
    generation: {
      number: generation,
      key: generationKey({ session, generation, templateKey: key, spec }),
    },
    templateKey: key,
    state: "running",
    epoch: randomUUID(),
    env: { ...spec.template.env, ...spec.env },
    network: spec.network === "allow-all" ? "allow-all" : "deny-all",
    user: spec.user,
    workspace: spec.workspace,
    memoryBytes: spec.limits.memoryBytes,
  };
}

async function adopt(host: Host, name: string, existing: SessionMeta, wanted: SessionMeta): Promise<Handle> {
  if (existing.owner !== wanted.owner || existing.generation.key !== wanted.generation.key) {
    throw new ProviderError(
      "conflict",
      `session ${wanted.session.sessionId}: directory ${name} belongs to a sandbox with another template or environment`,
      { hint: "Delete that session first, or start a new generation." },
    );
  }
  if (existing.state === "running") return handleOf(host, name, existing);
  const running: SessionMeta = { ...existing, state: "running", epoch: randomUUID() };
  await replaceJson(sessionPaths(join(host.layout.sessions, name)).meta, running);
  return handleOf(host, name, running);
}

function checkArtifact(host: Host, { artifact }: StartRequest, key: string): void {
  if (artifact === undefined) return;
  if (artifact.provider === "just-bash" && artifact.hostId === host.hostId && artifact.templateKey === key)
    return;
  throw new ProviderError(
    "template-not-provisioned",
    `the artifact names template ${artifact.templateKey} of ${artifact.provider} on host ${artifact.hostId}; needed is ${key} on ${host.hostId}`,
    { hint: "Prepare the template on this host." },
  );
}

async function refuseRemoved(host: Host, request: StartRequest): Promise<void> {
  const path = join(host.layout.removals, `${removalName(host.owner, request.session)}.json`);
  const removal = await readJson(path, removalMetaSchema, "mark of a removal");
  if (removal !== undefined && removal.upToGeneration >= request.generation) throw removed(request);
}

function removed({ session, generation }: StartRequest): ProviderError {
  return new ProviderError(
    "session-lost",
    `generation ${generation} of session ${session.sessionId} was removed`,
    { hint: "Start a new session or a new generation." },
  );
}
