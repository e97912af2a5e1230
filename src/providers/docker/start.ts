import type { Handle } from "../../contract/sandbox.js";
import { ProviderError } from "../errors.js";
import { generationKey } from "../generation-key.js";
import type { ResourceLabels } from "../labels.js";
import type { OperationContext, StartRequest } from "../provider.js";
import { templateKey } from "../template-key.js";
import { adoptContainer, removeCorpse } from "./adopt-container.js";
import { cancelled } from "./cancelled.js";
import { check } from "./check.js";
import { cliFailure } from "./cli-failure.js";
import type { DockerDeps } from "./deps.js";
import { engineTimeouts } from "./engine-timeouts.js";
import { openArtifact, type DockerHandleData } from "./documents.js";
import { sessionContainerName } from "./names.js";
import { removeContainer } from "./remove-container.js";
import { runArguments } from "./run-arguments.js";
import { findTemplate } from "./template-image.js";

/** How often a name that is taken and free again by turns is tried. */
const maxAttempts = 5;

/** Makes or adopts the container of one generation. What this call made is removed when it is aborted. */
export async function start(
  deps: DockerDeps,
  request: StartRequest,
  context: OperationContext,
): Promise<Handle> {
  const { session, generation, spec } = request;
  check(spec);
  const template = await locateTemplate(deps, request, context);
  const key = generationKey({ session, generation, templateKey: template.key, spec });
  const labels: ResourceLabels = {
    owner: deps.owner,
    role: "session",
    hostId: deps.hostId,
    createdAtMs: Date.now(),
    session,
    generation: { number: generation, key },
    templateKey: template.key,
    custom: spec.labels,
  };
  const name = sessionContainerName(deps.owner, session, generation);
  const ticket = deps.creates.begin(session, generation);
  try {
    context.onProgress("starting the container");
    const { id, isMade } = await createOrAdopt(deps, { name, labels, request, template }, context);
    if (ticket.isFenced || context.signal.aborted) {
      if (isMade) await removeContainer(deps, id);
      if (context.signal.aborted) throw cancelled("docker run", context.signal);
      throw new ProviderError(
        "closed",
        `session ${session.sessionId} was removed while it was being started`,
      );
    }
    const data: DockerHandleData = {
      version: 1,
      endpoint: await deps.cli.endpoint(),
      containerName: name,
      workspace: spec.workspace,
    };
    return {
      version: 1,
      provider: "docker",
      hostId: deps.hostId,
      sandboxId: id,
      session,
      generation: { number: generation, key },
      templateKey: template.key,
      data: { ...data },
    };
  } finally {
    ticket.end();
  }
}

interface LocatedTemplate {
  readonly key: string;
  readonly imageId: string;
  readonly uid: number;
  readonly gid: number;
}

async function locateTemplate(
  deps: DockerDeps,
  { artifact, spec }: StartRequest,
  context: OperationContext,
): Promise<LocatedTemplate> {
  if (artifact !== undefined) return { key: artifact.templateKey, ...(await openArtifact(deps, artifact)) };
  const guest = await deps.guest();
  const key = templateKey({ provider: "docker", spec, guestHash: guest.sha256 });
  const template = await findTemplate(deps, key, context.signal);
  if (template === undefined) throw notProvisioned(key);
  return { key, ...template };
}

interface Creation {
  readonly name: string;
  readonly labels: ResourceLabels;
  readonly request: StartRequest;
  readonly template: LocatedTemplate;
}

async function createOrAdopt(
  deps: DockerDeps,
  { name, labels, request, template }: Creation,
  context: OperationContext,
): Promise<{ id: string; isMade: boolean }> {
  const args = runArguments({ name, labels, spec: request.spec, ...template });
  for (let attempt = 1; ; attempt += 1) {
    if (context.signal.aborted) throw cancelled("docker run", context.signal);
    // Without the signal: a client killed in the middle leaves the engine creating, and then nobody knows when
    // the container lands. It is waited for, and removed if it isn't wanted any more.
    const result = await deps.cli.run({ args, timeoutMs: engineTimeouts.createMs });
    if (result.exitCode === 0) return { id: result.stdout.trim(), isMade: true };
    const failure = cliFailure(args, result);
    if (/name .* is already in use/i.test(result.stderr)) {
      const adopted = await adoptContainer(deps, { name, labels }, context);
      if (adopted !== undefined) return { id: adopted, isMade: false };
      if (attempt < maxAttempts) continue;
      throw failure;
    }
    if (/no such image|unable to find image/i.test(result.stderr)) throw notProvisioned(template.key);
    // Made but not started, for example over a limit the engine refuses late.
    await removeCorpse(deps, { name, labels });
    throw failure;
  }
}

function notProvisioned(key: string): ProviderError {
  return new ProviderError("template-not-provisioned", `template ${key} is not on this host`, {
    hint: "Prepare it, then start again.",
  });
}
