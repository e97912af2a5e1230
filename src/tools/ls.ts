import { lsInputSchema, type ToolInput } from "../contract/tools.js";
import type { DirectoryEntry } from "../providers/channel.js";
import { fitting } from "./fitting.js";
import { fileRoots, resolvePath } from "./paths.js";
import { defineTool } from "./tool.js";
import { displayName } from "./utf8.js";

const defaultLimit = 100;
/** All are read, so that the first ones in order are the ones returned; above this the rest is unseen. */
const maxEntries = 100_000;

export const lsTool = defineTool<ToolInput<"ls">>({
  name: "ls",
  description:
    "Lists a directory of the sandbox (default: the workspace), sorted by name, hidden entries included: name, " +
    "type (dir, file, link, other) and size. Links are not followed. At most `limit` entries (default 100, at " +
    "most 1,000); `truncated` says that there are more.",
  input: lsInputSchema,
  async run(input, context) {
    const { workspace } = context;
    const path = resolvePath(input.path ?? ".", {
      workspace,
      roots: fileRoots(workspace),
      field: "input.path",
    });
    const { entries, truncated } = await context.files.list(path, { maxEntries });
    const sorted = [...entries].sort((a, b) => Buffer.compare(a.name, b.name));
    const shown = fitting(sorted.slice(0, input.limit ?? defaultLimit).map(toEntry));
    return {
      outcome: { kind: "ok" },
      result: { entries: shown, truncated: truncated || shown.length < sorted.length },
    };
  },
});

function toEntry({ name, type, sizeBytes }: DirectoryEntry) {
  return { ...displayName(name), type, sizeBytes };
}
