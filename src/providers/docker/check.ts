import type { ResolvedSpec } from "../../contract/spec.js";
import { ProviderError } from "../errors.js";
import { nameArgument } from "./arguments.js";
import { outputsPath, uploadsPath } from "./sandbox-layout.js";

/** Below this the engine refuses, or the guest has no room beside a shell. */
const minMemoryBytes = 32 * 1024 * 1024;

/** Directories of the system: the workspace is given to the session user, these must not be. */
const systemPath =
  /^\/(bin|boot|dev|etc|lib|lib32|lib64|proc|run|sbin|sys|usr|var)(\/|$)|^\/(home|mnt|opt|root|srv|tmp)?$/;

/** Refuses what this provider can't do, before anything is created. */
export function check(spec: ResolvedSpec): void {
  const { template, network, limits, user, workspace } = spec;
  if (template.dockerfile !== undefined) {
    throw unsupported(
      "template.dockerfile",
      "templates from a Dockerfile",
      "Name an image in template.image.",
    );
  }
  if (template.resources?.workspace !== undefined || template.resources?.skills !== undefined) {
    throw unsupported("template.resources", "resources in templates", "Upload files after the start.");
  }
  if (template.image === undefined) {
    throw invalid("template.image", "a docker session needs an image", 'For example "debian:bookworm".');
  }
  nameArgument(template.image, "template.image");
  if (template.setup?.some((command) => command.includes("\0")) === true) {
    throw invalid("template.setup", "a setup command holds a NUL byte", "Remove it.");
  }
  if (typeof network !== "string") {
    throw unsupported("network", "network lists", 'Use "deny-all" or "allow-all".');
  }
  if (limits.memoryBytes < minMemoryBytes) {
    throw invalid("limits.memoryBytes", `less than ${minMemoryBytes} bytes of memory`, "Give it more.");
  }
  if (limits.cpus < 0.01) throw invalid("limits.cpus", "less than 0.01 cpus", "Give it more.");
  if (!/^[a-z_][a-z0-9_-]{0,31}$/.test(user)) {
    throw invalid(
      "user",
      `${JSON.stringify(user)} is no user name`,
      "Use lower-case letters, digits, - and _.",
    );
  }
  const isSession = [uploadsPath, outputsPath].some((path) => overlaps(path, workspace));
  if (systemPath.test(workspace) || isSession || /[,:]/.test(workspace)) {
    throw invalid(
      "workspace",
      `${JSON.stringify(workspace)} can't be the workspace: it belongs to the system`,
      "Use a directory of its own, for example /workspace.",
    );
  }
}

function overlaps(a: string, b: string): boolean {
  return `${a}/`.startsWith(`${b}/`) || `${b}/`.startsWith(`${a}/`);
}

function unsupported(field: string, what: string, hint: string): ProviderError {
  return new ProviderError("unsupported", `the docker provider has no ${what} yet`, {
    field: `spec.${field}`,
    hint,
  });
}

function invalid(field: string, what: string, hint: string): ProviderError {
  return new ProviderError("invalid-request", `spec.${field}: ${what}`, { field: `spec.${field}`, hint });
}
