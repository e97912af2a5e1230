import type { ArtifactStore } from "../artifacts/artifact-store.js";
import type { CallRequest } from "../contract/call.js";
import { limits } from "../contract/names.js";
import { HoldfastError } from "./holdfast-error.js";

/**
 * A large input goes to the artifact store and travels as `{ ref }`: history keeps every byte for ever, and the
 * server refuses 2 MB. Content-addressed, so the same call sent again carries the same reference.
 */
export async function storeInput(
  input: CallRequest["input"],
  artifacts: ArtifactStore | undefined,
): Promise<CallRequest["input"]> {
  const bytes = new TextEncoder().encode(JSON.stringify(input));
  if (bytes.length <= limits.inlineInputBytes) return input;
  if (artifacts === undefined) {
    throw new HoldfastError(
      "too-large",
      `input: ${bytes.length} bytes as JSON, at most ${limits.inlineInputBytes} can be sent without an artifact store`,
      {
        field: "input",
        hint: "Create the client with `artifacts` (the installation's HOLDFAST_ARTIFACTS directory).",
      },
    );
  }
  return { ref: await artifacts.put(once(bytes), { mimeType: "application/json" }) };
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield await Promise.resolve(bytes);
}
