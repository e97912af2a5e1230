import { createHash } from "node:crypto";

/** The same for the same request, whatever the order of its fields. */
export function requestHash(request: { readonly tool: string; readonly input: unknown }): string {
  const canonical = JSON.stringify(request, (_key, value: unknown) =>
    typeof value === "object" && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  );
  return createHash("sha256").update(canonical).digest("hex");
}
