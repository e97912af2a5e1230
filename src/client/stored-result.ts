import type { ArtifactStore } from "../artifacts/artifact-store.js";
import { inputRefSchema, type Answer } from "../contract/call.js";
import { limits } from "../contract/names.js";

/**
 * A session keeps its newest results inline; of an older one the answer says where in the store it is. With a
 * store at hand the caller sees no difference; without one it keeps the reference.
 */
export async function withStoredResult(
  answer: Answer,
  artifacts: ArtifactStore | undefined,
): Promise<Answer> {
  const stored = inputRefSchema.safeParse(answer.result);
  if (!stored.success || artifacts === undefined) return answer;
  // An answer's result is bounded when it is made, so more than this is no result.
  const bytes = await artifacts.read(stored.data.ref, { maxBytes: 2 * limits.answerBytes });
  return { ...answer, result: JSON.parse(new TextDecoder().decode(bytes)) as Record<string, unknown> };
}
