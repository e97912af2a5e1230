import type { Answer } from "../contract/call.js";
import type { FailureCode } from "../contract/refs.js";

/** Every exit code of the command line; docs/operations.md carries the same table. */
export const exitCodes = {
  ok: 0,
  /** The tool or the session could not do what was asked, or `doctor` found a problem. */
  failed: 1,
  /** Wrong usage, or a request that was refused before anything was done. */
  invalid: 2,
  notFound: 3,
  unavailable: 4,
  conflict: 5,
  denied: 6,
  internal: 7,
  timedOut: 124,
  interrupted: 130,
} as const;

export const exitCodeTable = `EXIT CODES

  0    done
  1    the tool or the session failed (no such file, call lost or cancelled), or doctor found a problem
  2    wrong usage, or an invalid request: nothing was done
  3    no such session, call, artifact or namespace, or the session has ended
  4    no Temporal server, worker or engine answers
  5    conflict (the id is in use) or busy
  6    denied, or not supported
  7    internal error
  124  the command ran into its timeout
  130  interrupted (Ctrl-C); a call that was sent goes on

  session bash exits with the command's own code, 128 + n after signal n; the codes above are then
  Holdfast's own only where stderr says "holdfast: ...". --json tells them apart by "outcome" and "error".
`;

const ofFailure: Record<FailureCode, number> = {
  "invalid-request": exitCodes.invalid,
  "too-large": exitCodes.invalid,
  "not-found": exitCodes.notFound,
  closed: exitCodes.notFound,
  unavailable: exitCodes.unavailable,
  unreachable: exitCodes.unavailable,
  conflict: exitCodes.conflict,
  busy: exitCodes.conflict,
  denied: exitCodes.denied,
  unsupported: exitCodes.denied,
  internal: exitCodes.internal,
  "cannot-start": exitCodes.failed,
  "not-a-file": exitCodes.failed,
  "not-unique": exitCodes.failed,
  "no-space": exitCodes.failed,
  "template-not-provisioned": exitCodes.failed,
  "template-failed": exitCodes.failed,
  "session-lost": exitCodes.failed,
};

export const exitCodeOfFailure = (code: FailureCode): number => ofFailure[code];

/** Of an answer that came: what the command did passes through. */
export function exitCodeOfAnswer({ status, outcome }: Pick<Answer, "status" | "outcome">): number {
  // Asked not to wait for the end: being on its way is success.
  if (outcome === undefined) return status === "rejected" ? exitCodes.invalid : exitCodes.ok;
  switch (outcome.kind) {
    case "ok":
      return exitCodes.ok;
    case "exited":
    case "signaled":
      return outcome.exitCode;
    case "timed-out":
      return exitCodes.timedOut;
    case "error":
      return exitCodeOfFailure(outcome.error.code);
    case "cancelled":
    case "lost":
    case "output-limit":
      return exitCodes.failed;
  }
}
