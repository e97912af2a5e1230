import { RE2JS } from "re2js";
import { ProviderError } from "../providers/errors.js";

export interface GrepPattern {
  readonly pattern: string;
  readonly literal?: boolean | undefined;
  readonly ignoreCase?: boolean | undefined;
}

/** Compiling takes memory that grows with the pattern; a literal one has no such limit. */
const maxPatternCharacters = 16 * 1024;

/**
 * Whether a line matches. RE2 takes linear time for any pattern and line, so that nobody's pattern can hold
 * the worker; it has no lookaround and no back references, as ripgrep by default. Throws `invalid-request`.
 */
export function lineMatcher({ pattern, literal, ignoreCase }: GrepPattern): (line: string) => boolean {
  if (pattern.includes("\n")) throw badPattern("it contains a line break, and lines are searched one by one");
  if (literal === true && ignoreCase !== true) return (line) => line.includes(pattern);
  if (pattern.length > maxPatternCharacters) {
    throw new ProviderError("too-large", `input.pattern has ${pattern.length} characters`, {
      field: "input.pattern",
      hint: `Up to ${maxPatternCharacters}, or a literal one (literal: true, without ignoreCase).`,
    });
  }
  const expression = compile(literal === true ? RE2JS.quote(pattern) : pattern, ignoreCase === true);
  return (line) => expression.matcher(line).find();
}

function compile(pattern: string, ignoreCase: boolean): RE2JS {
  try {
    return RE2JS.compile(pattern, ignoreCase ? RE2JS.CASE_INSENSITIVE : 0);
  } catch (error) {
    throw badPattern(error instanceof Error ? error.message : String(error));
  }
}

function badPattern(reason: string): ProviderError {
  return new ProviderError("invalid-request", `input.pattern: ${reason}`, {
    field: "input.pattern",
    hint: "Correct the regular expression (RE2 syntax), or set literal to search for the text itself.",
  });
}
