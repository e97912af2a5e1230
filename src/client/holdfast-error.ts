import type { Failure, FailureCode } from "../contract/refs.js";

/**
 * Every failure of the client, the configuration and the dev server: `message` says what was asked and what
 * happened, `hint` what to do next. What a command in a sandbox did is never one of these, it is a value.
 */
export class HoldfastError extends Error {
  override readonly name = "HoldfastError";
  readonly code: FailureCode;
  /** The part of the request that was refused, as the caller named it (`spec.limits.cpus`). */
  readonly field: string | undefined;
  readonly hint: string | undefined;

  constructor(
    code: FailureCode,
    message: string,
    options: { field?: string | undefined; hint?: string | undefined; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? {} : { cause: options.cause });
    this.code = code;
    this.field = options.field;
    this.hint = options.hint;
  }

  static from(failure: Failure, cause?: unknown): HoldfastError {
    return new HoldfastError(failure.code, failure.message, {
      field: failure.field,
      hint: failure.hint,
      cause,
    });
  }

  toFailure(): Failure {
    return {
      code: this.code,
      message: this.message,
      ...(this.field === undefined ? {} : { field: this.field }),
      ...(this.hint === undefined ? {} : { hint: this.hint }),
    };
  }
}
