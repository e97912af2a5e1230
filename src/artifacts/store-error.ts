import type { FailureCode } from "../contract/refs.js";
import { ProviderError } from "../providers/errors.js";

const known: Readonly<Record<string, { code: FailureCode; hint: string }>> = {
  ENOENT: { code: "not-found", hint: "Hosts and clients of one installation must share the artifact store." },
  ELOOP: { code: "denied", hint: "The artifact store holds plain files only; remove the link." },
  ENOSPC: { code: "no-space", hint: "Free space in the artifact store's directory." },
  EDQUOT: { code: "no-space", hint: "Raise the quota of the artifact store's directory." },
  EACCES: { code: "denied", hint: "Give this user access to the artifact store's directory." },
  EPERM: { code: "denied", hint: "Give this user access to the artifact store's directory." },
  EROFS: { code: "denied", hint: "The artifact store's directory must be writable." },
  ENOTDIR: { code: "denied", hint: "The artifact store's directory must be a directory." },
};

/** What a failed file operation of the store means to the caller. */
export function storeError(what: string, cause: unknown): ProviderError {
  const errno = cause instanceof Error && "code" in cause ? String(cause.code) : "";
  const { code, hint } = known[errno] ?? { code: "internal" as const, hint: undefined };
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new ProviderError(code, `artifact store could not ${what}: ${reason}`, {
    cause,
    ...(hint === undefined ? {} : { hint }),
  });
}
