import { ProviderError } from "../../errors.js";

/** One typed failure for each way in which the host's file system says no. `path` is the sandbox's. */
export function fileFailure(error: unknown, path: string): ProviderError {
  if (error instanceof ProviderError) return error;
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  const shown = JSON.stringify(path);
  switch (code) {
    case "ENOENT":
      return new ProviderError("not-found", `${shown} does not exist`);
    case "ENOTDIR":
      return new ProviderError("not-found", `a part of ${shown} is not a directory`);
    case "EISDIR":
    case "ENXIO":
    case "ENODEV":
      return notAFile(path);
    case "EACCES":
    case "EPERM":
    case "EROFS":
      return new ProviderError("denied", `${shown}: permission denied`);
    case "ELOOP":
      return new ProviderError("denied", `${shown}: too many links, or a link that changed meanwhile`);
    case "ENOSPC":
    case "EDQUOT":
      return new ProviderError("no-space", `${shown}: no space left; the old content is untouched`, {
        hint: "Remove files, then try again.",
      });
    case "ENAMETOOLONG":
      return new ProviderError("invalid-request", `${shown.slice(0, 80)}...: a name in the path is too long`);
    default:
      return new ProviderError("internal", `${shown}: ${String(error)}`, { cause: error });
  }
}

export function notAFile(path: string): ProviderError {
  return new ProviderError("not-a-file", `${JSON.stringify(path)} is not a regular file`, {
    hint: "Name a regular file; use ls to see what is there.",
  });
}
