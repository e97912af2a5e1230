import { z } from "zod";
import { ProviderError } from "../errors.js";
import { decodeLabels } from "../labels.js";
import { cliFailure } from "./cli-failure.js";
import type { DockerDeps } from "./deps.js";
import { engineTimeouts } from "./engine-timeouts.js";
import { templateTag } from "./names.js";

const imageSchema = z.tuple([
  z.object({
    Id: z.string().min(1),
    Config: z.object({ Labels: z.record(z.string(), z.string()).nullish() }).nullish(),
  }),
]);

/** Labels of a template beside the common ones. Plain values: letters, digits, ":" only. */
export const userIdsLabel = "dev.holdfast.user-ids";
export const baseImageLabel = "dev.holdfast.base-image";

export interface TemplateImage {
  readonly imageId: string;
  readonly uid: number;
  readonly gid: number;
  /** Id of the image it was made from. */
  readonly baseImageId: string | undefined;
}

/** Reads an image by reference or id; undefined when the engine doesn't have it. */
export async function inspectImage(
  deps: DockerDeps,
  reference: string,
  signal: AbortSignal | undefined,
): Promise<{ id: string; labels: Readonly<Record<string, string>> } | undefined> {
  const args = ["image", "inspect", reference];
  const result = await deps.cli.run({
    args,
    timeoutMs: engineTimeouts.readMs,
    ...(signal === undefined ? {} : { signal }),
  });
  if (result.exitCode !== 0) {
    if (/no such (image|object)|image not known/i.test(result.stderr)) return undefined;
    throw cliFailure(args, result);
  }
  const [image] = imageSchema.parse(JSON.parse(result.stdout));
  return { id: image.Id, labels: image.Config?.Labels ?? {} };
}

/** The finished template of a key on this engine. Somebody else's image under its tag is a conflict. */
export async function findTemplate(
  deps: DockerDeps,
  templateKey: string,
  signal: AbortSignal | undefined,
): Promise<TemplateImage | undefined> {
  const tag = templateTag(deps.owner, templateKey);
  const image = await inspectImage(deps, tag, signal);
  if (image === undefined) return undefined;
  const labels = decodeLabels(image.labels);
  const ids = /^(\d{1,10}):(\d{1,10})$/.exec(image.labels[userIdsLabel] ?? "");
  const isOurs =
    labels?.role === "template" && labels.owner === deps.owner && labels.templateKey === templateKey;
  if (!isOurs || ids === null) {
    throw new ProviderError("conflict", `image ${tag} exists and is not our template`, {
      hint: `Remove it with \`docker rmi ${tag}\`, then try again.`,
    });
  }
  return {
    imageId: image.id,
    uid: Number(ids[1]),
    gid: Number(ids[2]),
    baseImageId: image.labels[baseImageLabel],
  };
}
