import type { Failure, FailureCode } from "../contract/refs.js";

/**
 * The one exception of providers, tools and the exec engine. `message` says what was asked and what happened,
 * `hint` what to do next. What a command did is a value, never one of these.
 */
export class ProviderError extends Error {
  override readonly name = "ProviderError";
  readonly code: FailureCode;
  readonly hint: string | undefined;
  readonly field: string | undefined;

  constructor(
    code: FailureCode,
    message: string,
    options: { hint?: string | undefined; field?: string | undefined; cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause });
    this.code = code;
    this.hint = options.hint;
    this.field = options.field;
  }

  static from({ code, message, ...rest }: Failure): ProviderError {
    return new ProviderError(code, message, rest);
  }

  toFailure(): Failure {
    return {
      code: this.code,
      message: bounded(this.message, textChars),
      ...(this.field === undefined ? {} : { field: bounded(this.field, fieldChars) }),
      ...(this.hint === undefined ? {} : { hint: bounded(this.hint, textChars) }),
    };
  }
}

/** A failure travels in answers, states and history, all of which are bounded; an engine's words are not. */
const textChars = 4_000;
const fieldChars = 200;

/** The head says what was asked and the tail what went wrong; the middle may go. */
function bounded(text: string, most: number): string {
  if (text.length <= most) return text;
  const half = Math.floor(most / 2) - 10;
  return `${text.slice(0, half)} [...] ${text.slice(-half)}`;
}

/** Whether `error` is a ProviderError with one of these codes. */
export function hasCode(error: unknown, ...codes: FailureCode[]): error is ProviderError {
  return error instanceof ProviderError && codes.includes(error.code);
}
