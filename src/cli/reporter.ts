import { stripVTControlCharacters } from "node:util";
import { HoldfastError } from "../client/holdfast-error.js";
import type { Failure } from "../contract/refs.js";
import { exitCodeOfFailure, exitCodes } from "./exit-codes.js";

/** Where a command's words go: results to stdout, everything else to stderr. */
export interface Reporter {
  readonly json: boolean;
  /** The one result of a command: the document with `--json`, the text without. */
  result(document: unknown, text: string): void;
  /** Raw bytes for stdout, as a program wrote them. */
  bytes(bytes: Uint8Array): void;
  /** For people, on stderr; nothing with `--json`. */
  note(text: string): void;
}

export function createReporter({ json }: { json: boolean }): Reporter {
  return {
    json,
    result(document, text) {
      const line = json ? JSON.stringify(document) : text;
      if (line !== "") process.stdout.write(line.endsWith("\n") ? line : `${line}\n`);
    },
    bytes: (bytes) => void process.stdout.write(bytes),
    note(text) {
      if (!json) process.stderr.write(`${text}\n`);
    },
  };
}

/** Says what failed, in the form that was asked for, and gives the exit code. */
export function reportError(error: unknown, { json }: { json: boolean }): number {
  const failure = failureOf(error);
  if (json) process.stdout.write(`${JSON.stringify({ error: failure })}\n`);
  else process.stderr.write(failureText(failure));
  return error instanceof Interrupted ? exitCodes.interrupted : exitCodeOfFailure(failure.code);
}

export function failureText(failure: Failure): string {
  const field =
    failure.field === undefined || failure.message.includes(failure.field) ? "" : ` (${failure.field})`;
  const hint = failure.hint === undefined ? "" : `  ${failure.hint}\n`;
  return `holdfast: ${failure.message}${field}\n${hint}`;
}

/** Ctrl-C while a command waited. */
export class Interrupted extends HoldfastError {
  constructor(hint: string) {
    super("unavailable", "Interrupted.", { hint });
  }
}

function failureOf(error: unknown): Failure {
  if (error instanceof HoldfastError) return error.toFailure();
  if (error instanceof Error && error.name === "CLIError") {
    return {
      code: "invalid-request",
      message: stripVTControlCharacters(error.message),
      hint: "`holdfast --help` and `holdfast COMMAND --help` show the usage.",
    };
  }
  if (hasFailure(error)) return error.toFailure();
  const message = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return {
    code: "internal",
    message,
    hint: "This is a defect of Holdfast: please report it with the words above.",
  };
}

/** Errors of the stores and providers speak the same language. */
function hasFailure(error: unknown): error is { toFailure: () => Failure } {
  return error instanceof Error && "toFailure" in error && typeof error.toFailure === "function";
}
