import { z } from "zod";
import type { Artifact, Handle } from "../../contract/sandbox.js";
import { ProviderError } from "../errors.js";
import type { DockerDeps } from "./deps.js";

/** The provider's part of a handle. */
const handleDataSchema = z.object({
  version: z.literal(1),
  /** Address of the engine that has the container. */
  endpoint: z.string().min(1),
  containerName: z.string().min(1),
  workspace: z.string().min(1),
});
export type DockerHandleData = z.infer<typeof handleDataSchema>;

/** The provider's part of an artifact. */
const artifactDataSchema = z.object({
  version: z.literal(1),
  endpoint: z.string().min(1),
  imageId: z.string().min(1),
  /** Of the session user in this template. */
  uid: z.number().int().min(0),
  gid: z.number().int().min(0),
});
export type DockerArtifactData = z.infer<typeof artifactDataSchema>;

const containerId = /^[0-9a-f]{12,64}$/;

/**
 * Checks a handle that came back from the workflow, and that this worker talks to the engine the handle is of:
 * on another one "no such container" would pass for a lost session.
 */
export async function openHandle(deps: DockerDeps, handle: Handle): Promise<DockerHandleData> {
  const data = handleDataSchema.safeParse(handle.data);
  if (handle.provider !== "docker" || !data.success || !containerId.test(handle.sandboxId)) {
    throw new ProviderError("invalid-request", "the handle is not one of the docker provider", {
      field: "handle",
      hint: "Pass the handle as start or resume returned it.",
    });
  }
  const endpoint = await deps.cli.endpoint();
  if (data.data.endpoint !== endpoint) {
    throw new ProviderError(
      "unavailable",
      `the sandbox lives on the engine ${data.data.endpoint}, this worker uses ${endpoint}`,
      { hint: "Point DOCKER_HOST or DOCKER_CONTEXT of this worker at the sandbox's engine." },
    );
  }
  return data.data;
}

/** Checks an artifact. One of another engine counts as not provisioned here, which leads to a prepare. */
export async function openArtifact(deps: DockerDeps, artifact: Artifact): Promise<DockerArtifactData> {
  const data = artifactDataSchema.safeParse(artifact.data);
  if (artifact.provider !== "docker" || !data.success) {
    throw new ProviderError("invalid-request", "the artifact is not one of the docker provider", {
      field: "artifact",
      hint: "Pass the artifact as prepare returned it.",
    });
  }
  if (data.data.endpoint !== (await deps.cli.endpoint())) {
    throw new ProviderError(
      "template-not-provisioned",
      `template ${artifact.templateKey} was prepared on the engine ${data.data.endpoint}`,
      { hint: "Prepare it on the engine this worker uses." },
    );
  }
  return data.data;
}
