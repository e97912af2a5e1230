import { randomBytes } from "node:crypto";
import type { ResolvedSpec } from "../../contract/spec.js";
import { ProviderError } from "../errors.js";
import { encodeLabels, type ResourceLabels } from "../labels.js";
import type { OperationContext } from "../provider.js";
import { labelArguments } from "./arguments.js";
import { baseSetupScript, finishScript, scriptFromStdin } from "./base-setup.js";
import { createBuildShell } from "./build-shell.js";
import type { DockerDeps } from "./deps.js";
import { engineTimeouts } from "./engine-timeouts.js";
import type { GuestBinary } from "./guest-binary.js";
import { templateBuildName, templateTag } from "./names.js";
import { removeContainer } from "./remove-container.js";
import { guestPath } from "./sandbox-layout.js";
import { baseImageLabel, findTemplate, userIdsLabel, type TemplateImage } from "./template-image.js";

export interface TemplateBuild {
  readonly spec: ResolvedSpec;
  readonly templateKey: string;
  readonly baseImageId: string;
  readonly guest: GuestBinary;
}

/**
 * Makes a template in a build container and commits it under its tag. The container is removed in every case,
 * and until the commit nothing carries the tag, so a builder that dies leaves nothing that passes for a template.
 */
export async function buildTemplate(
  deps: DockerDeps,
  build: TemplateBuild,
  context: OperationContext,
): Promise<TemplateImage> {
  const name = templateBuildName(build.templateKey, randomBytes(4).toString("hex"));
  const labels: ResourceLabels = {
    owner: deps.owner,
    role: "template-build",
    hostId: deps.hostId,
    createdAtMs: Date.now(),
    templateKey: build.templateKey,
  };
  try {
    await startBuildContainer(deps, build, { name, labels, context });
    const { uid, gid } = await fillBuildContainer(deps, build, { name, context });
    context.onProgress("committing the template");
    // Another process may have built the same meanwhile: its template is as good, and sessions may use it already.
    const other = await findTemplate(deps, build.templateKey, context.signal);
    if (other?.baseImageId === build.baseImageId) return other;
    const imageId = await commit(deps, build, { name, labels, uid, gid });
    return { imageId, uid, gid, baseImageId: build.baseImageId };
  } finally {
    // Without the signal: an aborted build must not leave its container either.
    await removeContainer(deps, name);
  }
}

interface BuildStep {
  readonly name: string;
  readonly context: OperationContext;
}

async function startBuildContainer(
  deps: DockerDeps,
  { spec, baseImageId }: TemplateBuild,
  { name, labels }: BuildStep & { labels: ResourceLabels },
): Promise<void> {
  const env = Object.entries(spec.template.env ?? {}).flatMap(([key, value]) => ["--env", `${key}=${value}`]);
  const result = await deps.cli
    .require({
      args: [
        ...["run", "--detach", "--pull", "never", "--name", name, ...labelArguments(encodeLabels(labels))],
        // Template variables are public and stay in the image: that is how commands get them.
        ...[...env, "--user", "0", "--workdir", "/", "--no-healthcheck", "--entrypoint", "bash", baseImageId],
        ...["-c", "while :; do sleep 3600; done"],
      ],
      timeoutMs: engineTimeouts.createMs,
    })
    .catch((error: unknown) => {
      throw explainMissingBash(error, spec.template.image ?? baseImageId);
    });
  if (result === "") throw new ProviderError("internal", "docker run: no container id");
}

function explainMissingBash(error: unknown, image: string): unknown {
  const isMissing =
    error instanceof ProviderError &&
    /exec: \\?"?bash.*not found|exec.*bash.*no such file/is.test(error.message);
  if (!isMissing) return error;
  return new ProviderError("template-failed", `image ${image} lacks bash`, {
    field: "spec.template.image",
    hint: "Use an image with bash and coreutils, or add them in a Dockerfile of your own.",
    cause: error,
  });
}

async function fillBuildContainer(
  deps: DockerDeps,
  { spec, guest }: TemplateBuild,
  { name, context }: BuildStep,
): Promise<{ uid: number; gid: number }> {
  const shell = createBuildShell(deps, { container: name, context });
  await shell.run({
    what: "placing the guest",
    script: `mkdir -p -- "\${1%/*}" && cat >"$1" && chmod 755 -- "$1"`,
    args: [guestPath],
    input: guest.bytes,
  });
  const account = await shell.run({
    what: "making the session user and the workspace",
    script: baseSetupScript,
    args: [spec.user, spec.workspace],
  });
  const ids = /(\d+) (\d+)\s*$/.exec(account);
  if (ids === null) throw new ProviderError("template-failed", "the session user has no ids in this image");
  const [uid, gid] = [Number(ids[1]), Number(ids[2])];

  const setup = spec.template.setup ?? [];
  for (const [index, command] of setup.entries()) {
    await shell.run({
      what: `setup command ${index + 1} of ${setup.length}`,
      script: scriptFromStdin,
      args: [],
      input: command,
      workdir: spec.workspace,
    });
  }
  await shell.run({
    what: "finishing the workspace",
    script: finishScript,
    args: [`${uid}:${gid}`, spec.workspace],
  });
  await shell.preflight(guest.sha256);
  return { uid, gid };
}

async function commit(
  deps: DockerDeps,
  { templateKey, baseImageId }: TemplateBuild,
  { name, labels, uid, gid }: { name: string; labels: ResourceLabels; uid: number; gid: number },
): Promise<string> {
  await deps.cli.require({ args: ["kill", name], timeoutMs: engineTimeouts.startMs });
  const imageLabels = {
    ...encodeLabels({ ...labels, role: "template" }),
    [userIdsLabel]: `${uid}:${gid}`,
    [baseImageLabel]: baseImageId,
  };
  const changes = [
    // Encoded values hold nothing that the Dockerfile syntax takes apart.
    ...Object.entries(imageLabels).map(([key, value]) => `LABEL ${key}=${value}`),
    `ENTRYPOINT ["${guestPath}", "supervise"]`,
    "CMD []",
    "USER 0",
    "WORKDIR /",
  ];
  const id = await deps.cli.require({
    args: [
      "commit",
      ...changes.flatMap((change) => ["--change", change]),
      ...[name, templateTag(deps.owner, templateKey)],
    ],
    timeoutMs: engineTimeouts.commitMs,
  });
  return id.trim();
}
