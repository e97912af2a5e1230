import { oneChunk } from "../artifacts/one-chunk.js";
import { writeInputSchema, type ToolInput } from "../contract/tools.js";
import { ProviderError } from "../providers/errors.js";
import { fileRoots, resolvePath } from "./paths.js";
import type { PathLocks } from "./path-locks.js";
import { defineTool, type ToolContext } from "./tool.js";
import { utf8Bytes } from "./utf8.js";

type WriteInput = ToolInput<"write">;

export const createWriteTool = (locks: PathLocks) =>
  defineTool<WriteInput>({
    name: "write",
    description:
      "Writes a whole file, atomically: a reader sees the old content or the new one, and on any failure the old " +
      "one stays. Makes parent directories. Takes `content` (utf8, or base64 with encoding) or `ref`, a " +
      "reference into the artifact store, for content of any size. Keeps an existing file's mode.",
    input: writeInputSchema,
    async run(input, context) {
      const { workspace, sandbox } = context;
      const path = resolvePath(input.path, { workspace, roots: fileRoots(workspace), field: "input.path" });
      const result = await locks.hold(`${sandbox} ${path}`, () => write(path, input, context));
      return { outcome: { kind: "ok" }, result };
    },
  });

async function write(path: string, input: WriteInput, context: ToolContext) {
  const { files, callId, requestHash } = context;
  const content = contentOf(input, context);
  const earlier = await files.recorded(callId, requestHash);
  if (earlier === undefined) context.onClaimed();
  const { sizeBytes, created } =
    earlier ??
    (await files.write(path, content, {
      record: { callId, requestHash },
      ...(input.mode === undefined ? {} : { mode: input.mode }),
    }));
  return { sizeBytes, created };
}

function contentOf(input: WriteInput, { artifacts }: ToolContext): AsyncIterable<Uint8Array> {
  if (input.ref !== undefined) return artifacts.get(input.ref);
  const content = input.content ?? "";
  return oneChunk(input.encoding === "base64" ? base64Bytes(content) : utf8Bytes(content, "input.content"));
}

function base64Bytes(content: string): Uint8Array {
  const bytes = Buffer.from(content, "base64");
  // Node skips what isn't base64; a damaged file must not be written in its place.
  const plain = (text: string) => text.replace(/[\s=]+/g, "");
  if (plain(bytes.toString("base64")) === plain(content)) return bytes;
  throw new ProviderError("invalid-request", "input.content: is not base64", {
    field: "input.content",
    hint: "Send base64 with the letters A-Z a-z 0-9 + /, or leave out `encoding` for text.",
  });
}
