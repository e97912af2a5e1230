import type { SessionIdentity } from "../../contract/sandbox.js";
import { contentKey } from "../template-key.js";

/**
 * Name of a session's container, known before it is made: who creates it again meets the first one, whatever
 * died in between. It only finds; whose a container is, its labels and id say.
 */
export function sessionContainerName(owner: string, session: SessionIdentity, generation: number): string {
  const { sessionId, runId } = session;
  return `hf-session-${contentKey({ owner, sessionId, runId, generation })}`;
}

/** Image tag of a template. A commit moves it in one step, so a half-built template never has it. */
export function templateTag(owner: string, templateKey: string): string {
  return `hf-template-${contentKey({ owner }).slice(0, 8)}:${templateKey}`;
}

export function templateBuildName(templateKey: string, random: string): string {
  return `hf-template-build-${templateKey}-${random}`;
}
