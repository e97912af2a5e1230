import picomatch from "picomatch";
import { ProviderError } from "../providers/errors.js";

/** `posix` for `[!a]` and `[[:digit:]]`; unbalanced brackets are mistakes to be told, not literals. */
const globOptions = { dot: true, strictBrackets: true, nonegate: true, noextglob: true, posix: true };

/** Whether a relative path matches a glob. Throws `invalid-request` for a glob that isn't one. */
export function globMatcher(glob: string, field: string): (path: string) => boolean {
  try {
    // A leading "./" or "/" means the same place: where the search begins. Parentheses and bars are parts of names.
    const pattern = glob.replace(/^(\.?\/)+/, "").replace(/(?<!\\)[()|]/g, "\\$&");
    return picomatch(pattern, globOptions);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new ProviderError("invalid-request", `${field}: is not a glob: ${reason}`, {
      field,
      hint: "Close each bracket, or put a backslash before a bracket that is part of a name.",
      cause: error,
    });
  }
}
