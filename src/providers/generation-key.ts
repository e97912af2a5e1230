import type { SessionIdentity } from "../contract/sandbox.js";
import type { ResolvedSpec } from "../contract/spec.js";
import { contentKey } from "./template-key.js";

export interface GenerationKeyInput {
  readonly session: SessionIdentity;
  readonly generation: number;
  readonly templateKey: string;
  readonly spec: Pick<ResolvedSpec, "env" | "secrets" | "user" | "workspace">;
}

/**
 * Identity of one generation's sandbox. Adoption and resume refuse another key, so nothing of an earlier
 * generation, or of an earlier session with the same id, is taken for this one. Secrets count by their source,
 * never by value; the network doesn't count, because it may change while the sandbox runs.
 */
export function generationKey({ session, generation, templateKey, spec }: GenerationKeyInput): string {
  return contentKey({
    version: 1,
    session: { sessionId: session.sessionId, runId: session.runId },
    generation,
    templateKey,
    env: spec.env,
    secrets: spec.secrets,
    user: spec.user,
    workspace: spec.workspace,
  });
}
