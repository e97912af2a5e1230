import { ProviderError } from "../errors.js";

/** The typed error of an operation that its caller gave up. */
export function cancelled(what: string, signal: AbortSignal): ProviderError {
  return new ProviderError("unavailable", `${what}: given up, the operation was cancelled`, {
    cause: signal.reason,
  });
}
