/** `2026-01-15 10:30:00 +0800 CST`: what listings print, with decimals as the engine likes. */
const listed = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)(\.\d+)? ([+-]\d\d)(\d\d)(?: [A-Z+\-\d]+)?$/;
const rfc3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;

/**
 * A time as the engine tells it. Undefined for what can't be trusted (empty, unreadable, Go's zero time): such a
 * resource has no age and is never removed for it.
 */
export function parseEngineTime(text: string): number | undefined {
  const parts = listed.exec(text);
  const iso = parts
    ? `${parts[1] ?? ""}T${parts[2] ?? ""}${parts[3] ?? ""}${parts[4] ?? ""}:${parts[5] ?? ""}`
    : text;
  if (!rfc3339.test(iso)) return undefined;
  const timeMs = Date.parse(iso);
  // Go's zero time and the epoch mean "not set"; nothing of ours is that old.
  return Number.isNaN(timeMs) || timeMs <= 0 ? undefined : timeMs;
}
