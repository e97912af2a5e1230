import { defaultCallTimeoutMs } from "../contract/names.js";

/** A call and its command may each have a timeout; the smaller one wins. */
export function smallestTimeoutMs(...timeoutsMs: (number | null | undefined)[]): number {
  const given = timeoutsMs.filter((timeoutMs) => typeof timeoutMs === "number");
  return given.length === 0 ? defaultCallTimeoutMs : Math.min(...given);
}
