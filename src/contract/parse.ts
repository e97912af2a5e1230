import type { z } from "zod";
import type { Failure } from "./refs.js";

export type Parsed<T> = { ok: true; value: T } | { ok: false; failure: Failure };

/**
 * Checks a value from outside against a schema. `null` means absent (other languages send it), unknown
 * fields are ignored, and a refusal names the field: `root` is how the caller calls the value.
 */
export function parse<T>(schema: z.ZodType<T>, value: unknown, root: string): Parsed<T> {
  const result = schema.safeParse(withoutNulls(value));
  if (result.success) return { ok: true, value: result.data };
  const issue = result.error.issues[0];
  const field = [root, ...(issue?.path ?? [])].map(String).join(".");
  const more = result.error.issues.length - 1;
  return {
    ok: false,
    failure: {
      code: "invalid-request",
      field,
      message: `${field}: ${issue?.message ?? "invalid"}${more > 0 ? ` (and ${more} more)` : ""}`,
      hint: `Correct ${field} and send the request again; nothing was created.`,
    },
  };
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
