import type { Artifact } from "../../contract/sandbox.js";
import type { ResolvedSpec } from "../../contract/spec.js";
import { ProviderError } from "../errors.js";
import type { OperationContext } from "../provider.js";
import { templateKey } from "../template-key.js";
import { provideBaseImage } from "./base-image.js";
import { buildTemplate } from "./build-template.js";
import { check } from "./check.js";
import type { DockerDeps } from "./deps.js";
import type { DockerArtifactData } from "./documents.js";
import { findTemplate, type TemplateImage } from "./template-image.js";

/** Reuses the template of this spec's key, or builds it. */
export async function prepare(
  deps: DockerDeps,
  spec: ResolvedSpec,
  context: OperationContext,
): Promise<Artifact> {
  check(spec);
  const { image } = spec.template;
  if (image === undefined)
    throw new ProviderError("internal", "a template without an image passed the check");
  const guest = await deps.guest();
  const key = templateKey({ provider: "docker", spec, guestHash: guest.sha256 });
  const template = { ...spec.template, image };

  // The policy "always" means the newest base, so it is pulled before an older template may be reused.
  const isAlways = template.pullPolicy === "always";
  const freshBaseId = isAlways ? await provideBaseImage(deps, template, context) : undefined;
  const found = await findTemplate(deps, key, context.signal);
  if (found !== undefined && (freshBaseId === undefined || found.baseImageId === freshBaseId)) {
    return toArtifact(deps, key, found);
  }
  const baseImageId = freshBaseId ?? (await provideBaseImage(deps, template, context));
  const built = await buildTemplate(deps, { spec, templateKey: key, baseImageId, guest }, context);
  return toArtifact(deps, key, built);
}

async function toArtifact(deps: DockerDeps, key: string, image: TemplateImage): Promise<Artifact> {
  const data: DockerArtifactData = {
    version: 1,
    endpoint: await deps.cli.endpoint(),
    imageId: image.imageId,
    uid: image.uid,
    gid: image.gid,
  };
  return { version: 1, provider: "docker", hostId: deps.hostId, templateKey: key, data: { ...data } };
}
