import type { SessionIdentity } from "../contract/sandbox.js";
import { ProviderError } from "./errors.js";

/** Prefix of every label we put on an engine's resource. */
export const labelPrefix = "dev.holdfast.";

export const resourceRoles = ["session", "template", "template-build", "volume", "network"] as const;
export type ResourceRole = (typeof resourceRoles)[number];

/** What a resource is and whose: decoded. Everything beside owner and role may be absent by role. */
export interface ResourceLabels {
  readonly owner: string;
  readonly role: ResourceRole;
  readonly hostId: string;
  readonly createdAtMs: number;
  readonly session?: SessionIdentity;
  readonly generation?: { readonly number: number; readonly key: string };
  readonly templateKey?: string;
  /** The user's own labels. */
  readonly custom?: Readonly<Record<string, string>>;
}

const customPrefix = `${labelPrefix}label.`;

/**
 * A value as it stands in the engine. Engines join labels with commas in listings and take filters apart at
 * "=", so a value holds nothing but letters, digits and harmless signs; `decodeLabelValue` gives it back.
 */
export function encodeLabelValue(value: string): string {
  // Lone surrogates don't survive UTF-8, so what can't come back is refused.
  if (Buffer.from(value, "utf8").toString("utf8") !== value) {
    throw new ProviderError("invalid-request", "a label value holds half of a surrogate pair", {
      hint: "Send well-formed Unicode text.",
    });
  }
  return encodeURIComponent(value).replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16)}`);
}

/** Undefined for what `encodeLabelValue` never wrote. */
export function decodeLabelValue(encoded: string): string | undefined {
  try {
    return decodeURIComponent(encoded);
  } catch {
    // Somebody else's value: a stray "%" is no failure of ours, only not one of our labels.
    return undefined;
  }
}

/** Labels as the engine gets them, values encoded. */
export function encodeLabels(labels: ResourceLabels): Record<string, string> {
  const own: Record<string, string | undefined> = {
    owner: labels.owner,
    role: labels.role,
    host: labels.hostId,
    "created-at": new Date(labels.createdAtMs).toISOString(),
    "session-id": labels.session?.sessionId,
    "run-id": labels.session?.runId,
    generation: labels.generation?.number.toString(),
    "generation-key": labels.generation?.key,
    "template-key": labels.templateKey,
  };
  const encoded: Record<string, string> = {};
  for (const [name, value] of Object.entries(own)) {
    if (value !== undefined) encoded[`${labelPrefix}${name}`] = encodeLabelValue(value);
  }
  for (const [name, value] of Object.entries(labels.custom ?? {})) {
    encoded[`${customPrefix}${name}`] = encodeLabelValue(value);
  }
  return encoded;
}

/** Reads labels back. Undefined when owner, role, host or time are missing or not ours: half-labelled. */
export function decodeLabels(raw: Readonly<Record<string, string>>): ResourceLabels | undefined {
  const read = (name: string): string | undefined => {
    const value = raw[`${labelPrefix}${name}`];
    return value === undefined ? undefined : decodeLabelValue(value);
  };
  const owner = read("owner");
  const role = resourceRoles.find((known) => known === read("role"));
  const hostId = read("host");
  const createdAtMs = Date.parse(read("created-at") ?? "");
  if (!owner || role === undefined || !hostId || Number.isNaN(createdAtMs)) return undefined;

  const sessionId = read("session-id");
  const runId = read("run-id");
  const number = Number(read("generation"));
  const key = read("generation-key");
  const templateKey = read("template-key");
  const isSession = Boolean(sessionId) && Boolean(runId) && Number.isSafeInteger(number) && number > 0;
  // A session resource that doesn't say of which session can't be judged, so it counts as half-labelled.
  if (role === "session" && !(isSession && key)) return undefined;
  return {
    owner,
    role,
    hostId,
    createdAtMs,
    ...(sessionId && runId ? { session: { sessionId, runId } } : {}),
    ...(isSession && key ? { generation: { number, key } } : {}),
    ...(templateKey ? { templateKey } : {}),
    custom: decodeCustom(raw),
  };
}

function decodeCustom(raw: Readonly<Record<string, string>>): Record<string, string> {
  const custom: Record<string, string> = {};
  for (const [name, value] of Object.entries(raw)) {
    if (!name.startsWith(customPrefix)) continue;
    const decoded = decodeLabelValue(value);
    if (decoded !== undefined) custom[name.slice(customPrefix.length)] = decoded;
  }
  return custom;
}
