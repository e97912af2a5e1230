import { isUtf8 } from "node:buffer";
import { readInputSchema, type ToolInput } from "../contract/tools.js";
import type { FileStat, Files } from "../providers/channel.js";
import { ProviderError } from "../providers/errors.js";
import { fileChunks } from "./file-content.js";
import { createLinePage } from "./line-page.js";
import { fileRoots, resolvePath } from "./paths.js";
import { defineTool, type ToolContext, type ToolEnding } from "./tool.js";

const maxLines = 2000;
/** A multiple of three, so that its base64 has no padding. */
const inlineBytes = 48 * 1024;
/** Larger files aren't read to their end only to count lines. */
const countedBytes = 8 * 1024 * 1024;

type ReadInput = ToolInput<"read">;

export const readTool = defineTool<ReadInput>({
  name: "read",
  description:
    "Reads a regular file of the sandbox. Text comes by whole lines: at most 2,000 lines, 50 KB, and 2,000 " +
    "characters a line; `nextOffset` is the `offset` to go on with. A file that is not UTF-8 text comes as " +
    "base64 (the first 48 KB; `full` then refers to all of it).",
  input: readInputSchema,
  async run(input, context) {
    const { workspace } = context;
    const path = resolvePath(input.path, { workspace, roots: fileRoots(workspace), field: "input.path" });
    if (input.encoding === "base64") return readBinary(path, input, context);
    const text = await readText(path, input, context);
    if (text !== undefined) return text;
    if (input.encoding === undefined) return readBinary(path, input, context);
    throw new ProviderError("invalid-request", `${input.path} is not UTF-8 text`, {
      field: "input.encoding",
      hint: 'Read it with encoding "base64".',
    });
  },
});

/** Undefined when the file is not text. */
async function readText(
  path: string,
  input: ReadInput,
  context: ToolContext,
): Promise<ToolEnding | undefined> {
  const offset = input.offset ?? 1;
  const page = createLinePage({ offset, limit: input.limit ?? maxLines });
  let stat: FileStat | undefined;
  let counted = true;
  for await (const chunk of fileChunks(context.files, path, context.signal)) {
    if (stat === undefined && chunk.bytes.includes(0)) return undefined;
    stat = chunk.stat;
    page.add(chunk.bytes);
    counted = !page.full || stat.sizeBytes <= countedBytes;
    if (!counted) break;
  }
  const { text, shownBytes, totalLines, nextOffset } = page.finish();
  if (stat === undefined || text.includes(0) || !isUtf8(text)) return undefined;
  if (counted && offset > Math.max(1, totalLines)) throw beyondEnd(input.path, totalLines);
  return {
    outcome: { kind: "ok" },
    result: {
      content: {
        text: text.toString("utf8"),
        totalBytes: stat.sizeBytes,
        omittedBytes: Math.max(0, stat.sizeBytes - shownBytes),
      },
      ...(counted ? { totalLines } : {}),
      ...(nextOffset === undefined ? {} : { nextOffset }),
      mode: stat.mode,
    },
  };
}

async function readBinary(path: string, input: ReadInput, { files, artifacts, signal }: ToolContext) {
  if (input.offset !== undefined || input.limit !== undefined) {
    throw new ProviderError("invalid-request", `${input.path} is read as bytes, which have no lines`, {
      field: input.offset === undefined ? "input.limit" : "input.offset",
      hint: "Leave out offset and limit; what doesn't fit is in the artifact that `full` refers to.",
    });
  }
  const { bytes, stat } = await files.read(path, { offset: 0, lengthBytes: inlineBytes });
  const cut = stat.sizeBytes > bytes.byteLength;
  const full = cut ? await artifacts.put(bytesOf(files, path, signal)) : undefined;
  const totalBytes = full?.sizeBytes ?? bytes.byteLength;
  return {
    outcome: { kind: "ok" as const },
    result: {
      content: {
        text: Buffer.from(bytes).toString("base64"),
        encoding: "base64",
        totalBytes,
        omittedBytes: totalBytes - bytes.byteLength,
        ...(full === undefined ? {} : { full }),
      },
      mode: stat.mode,
    },
  };
}

async function* bytesOf(files: Files, path: string, signal: AbortSignal): AsyncIterable<Uint8Array> {
  for await (const { bytes } of fileChunks(files, path, signal)) yield bytes;
}

function beyondEnd(path: string, totalLines: number): ProviderError {
  return new ProviderError("invalid-request", `${path} has ${totalLines} lines`, {
    field: "input.offset",
    hint: "Lines are counted from 1.",
  });
}
