import { posix } from "node:path";
import { ProviderError } from "../providers/errors.js";

export const uploadsRoot = "/mnt/session/uploads";
export const outputsRoot = "/mnt/session/outputs";

/** Where tools may work. Commands may go anywhere: isolation is the provider's, this is against mistakes. */
export const fileRoots = (workspace: string): string[] => [
  workspace,
  uploadsRoot,
  outputsRoot,
  "/workspace/skills",
];

/** Where contents may be searched: outputs are what the session made, not what it works on. */
export const searchRoots = (workspace: string): string[] => [workspace, uploadsRoot, "/workspace/skills"];

/** Where a command may start. */
export const commandRoots = (workspace: string): string[] => [...fileRoots(workspace), "/tmp"];

/**
 * The absolute path in the sandbox that an input means. Throws `denied` for what lies outside the roots.
 * Links are not looked at here: the file primitives settle them where they happen.
 */
export function resolvePath(
  path: string,
  options: { workspace: string; roots: readonly string[]; field: string },
): string {
  const { workspace, roots, field } = options;
  const absolute = posix.resolve("/", workspace, path);
  if (!path.includes("\0") && roots.some((root) => isInside(absolute, posix.resolve("/", root))))
    return absolute;
  throw new ProviderError("denied", `${JSON.stringify(path)} is outside the directories that tools may use`, {
    field,
    hint: `Use a path relative to ${workspace}, or one under ${roots.join(", ")}.`,
  });
}

/** How a search tells a path: relative to the workspace where it can be. */
export function shownPath(path: string, workspace: string): string {
  const root = posix.resolve("/", workspace);
  return isInside(path, root) && path !== root ? posix.relative(root, path) : path;
}

const isInside = (path: string, root: string): boolean =>
  path === root || path.startsWith(root === "/" ? root : `${root}/`);
