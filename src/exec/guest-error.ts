import { failureCodes } from "../contract/names.js";
import { ProviderError } from "../providers/errors.js";

/** A guest's text ends up in answers and histories, so it is bounded. */
const maxTextChars = 4_000;

/** The error frame of a guest as typed error. An unknown code is `internal`. */
export function guestError(header: Readonly<Record<string, unknown>>): ProviderError {
  const text = (name: string): string | undefined => {
    const value = header[name];
    return typeof value === "string" && value !== "" ? value.slice(0, maxTextChars) : undefined;
  };
  const code = failureCodes.find((known) => known === header["code"]) ?? "internal";
  const hint = text("hint");
  const field = text("field");
  return new ProviderError(code, text("message") ?? "the sandbox's guest gave no reason", {
    ...(hint === undefined ? {} : { hint }),
    ...(field === undefined ? {} : { field }),
  });
}
