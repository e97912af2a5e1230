import { createHash } from "node:crypto";
import type { ResolvedSpec } from "../contract/spec.js";

/** Goes up when the meaning of a key changes: old templates then stop matching instead of being misread. */
const keyVersion = 1;

export interface TemplateKeyInput {
  readonly provider: ResolvedSpec["provider"];
  readonly spec: Pick<ResolvedSpec, "template" | "workspace" | "user">;
  /** Hash of the guest that is baked into the template, where there is one. */
  readonly guestHash?: string;
}

/**
 * Content address of a template: 24 hex digits over everything that decides what is in it. How its base is
 * pulled is not part of it. Depends on no process, locale, time zone or key order.
 */
export function templateKey({ provider, spec, guestHash }: TemplateKeyInput): string {
  const { image, dockerfile, setup, env, resources, revision } = spec.template;
  return contentKey({
    version: keyVersion,
    provider,
    image,
    dockerfile:
      dockerfile === undefined
        ? undefined
        : { text: sha256(dockerfile.text), context: dockerfile.context?.sha256 },
    resources: { workspace: resources?.workspace?.sha256, skills: resources?.skills?.sha256 },
    setup: setup ?? [],
    env: env ?? {},
    revision,
    workspace: spec.workspace,
    user: spec.user,
    guestHash,
  });
}

/** The first 24 hex digits of the sha256 of the canonical JSON of `value`. */
export function contentKey(value: unknown): string {
  return sha256(canonicalJson(value)).slice(0, 24);
}

/** JSON with sorted keys and without undefined, so that equal values have equal text. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(sorted(value));
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).filter(([, entry]) => entry !== undefined);
  // Code-unit order: localeCompare would make the key depend on the host's locale.
  entries.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  return Object.fromEntries(entries.map(([key, entry]) => [key, sorted(entry)]));
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
