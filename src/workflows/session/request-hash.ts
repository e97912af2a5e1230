import type { CallRequest } from "../../contract/call.js";

/**
 * Tells whether a callId comes back with the same request or with another one. Equal requests hash alike
 * whatever the order of their keys. Not cryptographic, and needn't be: both requests come from the same
 * caller, and the sandbox compares the sha256 of the script besides. (Workflow code has no crypto module.)
 */
export function requestHash(request: Pick<CallRequest, "tool" | "input" | "timeoutMs">): string {
  return hash64(canonical([request.tool, request.input, request.timeoutMs ?? null]));
}

function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (typeof value !== "object" || value === null)
    return value === undefined ? "null" : JSON.stringify(value);
  const entries = Object.entries(value)
    .filter(([, entry]) => entry !== undefined && entry !== null)
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .map(([key, entry]) => `${JSON.stringify(key)}:${canonical(entry)}`);
  return `{${entries.join(",")}}`;
}

/** Two FNV-1a lanes with different offsets, mixed at the end: 64 bits as 16 hex digits. */
function hash64(text: string): string {
  let low = 0x811c9dc5;
  let high = 0x01000193;
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    low = Math.imul(low ^ unit, 0x01000193);
    high = Math.imul(high ^ (unit + index), 0x85ebca6b);
  }
  low ^= Math.imul(high ^ (high >>> 15), 0xc2b2ae35);
  high ^= Math.imul(low ^ (low >>> 13), 0x27d4eb2f);
  return hex(low) + hex(high);
}

const hex = (value: number): string => (value >>> 0).toString(16).padStart(8, "0");
