import type { z } from "zod";
import { limits } from "./names.js";
import type { Failure } from "./refs.js";

export type Parsed<T> = { ok: true; value: T } | { ok: false; failure: Failure };

type Issue = z.core.$ZodIssue;
type Path = readonly PropertyKey[];

/**
 * Checks a value from outside against a schema. `null` means absent (other languages send it), unknown
 * fields are ignored, and a refusal names the field: `root` is how the caller calls the value. Never throws
 * for a JSON value.
 */
export function parse<T>(schema: z.ZodType<T>, value: unknown, root: string): Parsed<T> {
  // Checked first: what follows descends into the value and would run out of stack.
  if (!isAtMostDeep(value, limits.nesting)) {
    return refusal(root, `nested deeper than ${limits.nesting} levels`, 0);
  }
  const result = schema.safeParse(withoutNulls(value));
  if (result.success) return { ok: true, value: result.data };
  const { path, message } = explain(result.error.issues[0]);
  const field = [root, ...path].map(String).join(".");
  return refusal(field, message, result.error.issues.length - 1);
}

function refusal(field: string, message: string, more: number): { ok: false; failure: Failure } {
  // A field can hold a name that the caller chose, of any length: failures end up in history and `state`.
  const shown = field.length > limits.fieldChars ? `${field.slice(0, limits.fieldChars)}...` : field;
  return {
    ok: false,
    failure: {
      code: "invalid-request",
      field: shown,
      message: `${shown}: ${message}${more > 0 ? ` (and ${more} more)` : ""}`,
      hint: `Correct ${shown} and send the request again; nothing was created.`,
    },
  };
}

/** The issue that helps: inside a union, the one of the alternative that got furthest into the value. */
function explain(issue: Issue | undefined): { path: Path; message: string } {
  if (issue === undefined) return { path: [], message: "invalid" };
  if (issue.code === "invalid_key") return { path: issue.path, message: explain(issue.issues[0]).message };
  if (issue.code === "invalid_union") {
    const inner = issue.errors.map((alternative) => explain(alternative[0]));
    const deepest = inner.reduce<{ path: Path; message: string }>(
      (best, candidate) => (candidate.path.length > best.path.length ? candidate : best),
      { path: [], message: issue.message },
    );
    return { path: [...issue.path, ...deepest.path], message: deepest.message };
  }
  return { path: issue.path, message: issue.message };
}

function isAtMostDeep(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return true;
  return levels > 0 && Object.values(value).every((entry) => isAtMostDeep(entry, levels - 1));
}

function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (typeof value !== "object" || value === null) return value ?? undefined;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, entry]) => entry !== null)
      .map(([key, entry]) => [key, withoutNulls(entry)]),
  );
}
