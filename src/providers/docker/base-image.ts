import type { TemplateSpec } from "../../contract/spec.js";
import { ProviderError } from "../errors.js";
import type { OperationContext } from "../provider.js";
import type { DockerDeps } from "./deps.js";
import { engineTimeouts } from "./engine-timeouts.js";
import { inspectImage } from "./template-image.js";

/** Gets the image a template starts from, by its pull policy, and returns its id. */
export async function provideBaseImage(
  deps: DockerDeps,
  template: TemplateSpec & { image: string },
  context: OperationContext,
): Promise<string> {
  const { image, pullPolicy = "if-missing" } = template;
  const present = pullPolicy === "always" ? undefined : await inspectImage(deps, image, context.signal);
  if (present !== undefined) return present.id;
  if (pullPolicy === "never") {
    throw new ProviderError("not-found", `image ${image} is not on this host and may not be pulled`, {
      field: "spec.template.image",
      hint: `Run \`docker pull ${image}\` there, or set template.pullPolicy to "if-missing".`,
    });
  }
  context.onProgress(`pulling ${image}`);
  await deps.cli.require({
    args: ["pull", "--quiet", image],
    timeoutMs: engineTimeouts.pullMs,
    signal: context.signal,
  });
  const pulled = await inspectImage(deps, image, context.signal);
  if (pulled !== undefined) return pulled.id;
  throw new ProviderError("not-found", `image ${image} was pulled and is gone again`, {
    field: "spec.template.image",
    hint: "Something on this host removes images; try again.",
  });
}
