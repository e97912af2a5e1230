import { createTwoFilesPatch, FILE_HEADERS_ONLY } from "diff";
import { oneChunk } from "../artifacts/one-chunk.js";
import { editInputSchema, type ToolInput } from "../contract/tools.js";
import { ProviderError } from "../providers/errors.js";
import { wholeFile } from "./file-content.js";
import { fileRoots, resolvePath } from "./paths.js";
import type { PathLocks } from "./path-locks.js";
import { replaceText } from "./replace-text.js";
import { defineTool, type ToolContext } from "./tool.js";

type EditInput = ToolInput<"edit">;

const maxFileBytes = 16 * 1024 * 1024;
const maxDiffCharacters = 16 * 1024;
/** Computing a diff blocks the worker's other calls; an edit of a whole file isn't worth it. */
const diffOptions = { context: 3, headerOptions: FILE_HEADERS_ONLY, timeout: 100, maxEditLength: 2000 };

export const createEditTool = (locks: PathLocks) =>
  defineTool<EditInput>({
    name: "edit",
    description:
      "Replaces exact text in a file: all edits or none, one after the other. `oldText` must occur exactly once, " +
      "unless `replaceAll` is set. Line endings are kept: a line feed in `oldText` also finds CR LF. All other " +
      "bytes stay as they are. Returns the number of replacements and a unified diff.",
    input: editInputSchema,
    async run(input, context) {
      const { workspace, sandbox } = context;
      const path = resolvePath(input.path, { workspace, roots: fileRoots(workspace), field: "input.path" });
      const result = await locks.hold(`${sandbox} ${path}`, () => edit(path, input, context));
      return { outcome: { kind: "ok" }, result };
    },
  });

async function edit(path: string, input: EditInput, context: ToolContext): Promise<Record<string, unknown>> {
  const { files, callId, requestHash, signal } = context;
  // Done already: the file holds the new text by now, and the same edit would not find the old one.
  const earlier = await files.recorded(callId, requestHash);
  if (earlier !== undefined) return resultOf(earlier.result);
  const before = await wholeFile(files, path, { maxBytes: maxFileBytes, signal });
  const { content, replacements } = replaceText(before, input.edits);
  if (content.equals(before)) {
    throw new ProviderError("invalid-request", `the edits leave ${input.path} as it is`, {
      field: "input.edits",
      hint: "Give a newText that differs from oldText.",
    });
  }
  const result = { replacements, diff: unifiedDiff(input.path, before, content) };
  context.onClaimed();
  await files.write(path, oneChunk(content), { record: { callId, requestHash, result } });
  return result;
}

function resultOf(recorded: unknown): Record<string, unknown> {
  if (typeof recorded === "object" && recorded !== null) return { ...recorded };
  throw new ProviderError("internal", "the record of this edit holds no result");
}

/** For people and models: what is not UTF-8 is shown as U+FFFD, and a long one is cut. */
function unifiedDiff(path: string, before: Buffer, after: Buffer): string {
  const texts = [before.toString("utf8"), after.toString("utf8")] as const;
  const diff = createTwoFilesPatch(path, path, ...texts, undefined, undefined, diffOptions);
  if (diff === undefined) return `--- ${path}\n+++ ${path}\n(too many changes for a diff)\n`;
  if (diff.length <= maxDiffCharacters) return diff;
  return `${diff.slice(0, diff.lastIndexOf("\n", maxDiffCharacters))}\n(the diff goes on)\n`;
}
