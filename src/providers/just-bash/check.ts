import type { ResolvedSpec } from "../../contract/spec.js";
import { ProviderError } from "../errors.js";

/** Refuses what a simulated shell can't give, before anything is created. */
export function check(spec: ResolvedSpec): void {
  const { template, network } = spec;
  if (template.image !== undefined || template.dockerfile !== undefined) {
    const field = template.image === undefined ? "spec.template.dockerfile" : "spec.template.image";
    throw unsupported(field, "just-bash has no images", "Leave it out, or use the docker provider.");
  }
  if (template.resources !== undefined) {
    throw unsupported(
      "spec.template.resources",
      "just-bash puts no resources into a template yet",
      "Upload the files into the session instead.",
    );
  }
  if (typeof network !== "string") {
    throw unsupported(
      "spec.network",
      "just-bash can't enforce lists of domains and subnets",
      "Use deny-all or allow-all.",
    );
  }
  if (systemPath.test(spec.workspace)) {
    throw new ProviderError("invalid-request", `the workspace can't be at ${spec.workspace}`, {
      field: "spec.workspace",
      hint: "/bin, /usr/bin, /dev and /proc are simulated; use another directory, /workspace for example.",
    });
  }
}

const systemPath = /^\/(bin|usr\/bin|dev|proc)(\/|$)/;

function unsupported(field: string, message: string, hint: string): ProviderError {
  return new ProviderError("unsupported", message, { field, hint });
}
