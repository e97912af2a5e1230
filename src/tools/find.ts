import { findInputSchema, globInputSchema, type ToolInput } from "../contract/tools.js";
import { fitting } from "./fitting.js";
import { globMatcher } from "./glob-matcher.js";
import { fileRoots, resolvePath, shownPath } from "./paths.js";
import { defineTool, type ToolContext, type ToolEnding } from "./tool.js";
import { walk, type Found } from "./walk.js";

const defaultLimit = 100;

export const findTool = defineTool<ToolInput<"find">>({
  name: "find",
  description:
    "Finds files, directories and links by a glob over their paths relative to `path` (default: the workspace): " +
    "`*` within a name, `**` across directories, `{a,b}`, `[...]`; hidden ones included. `ignore` holds globs of " +
    "what is left out, with everything below it. Returns paths relative to the workspace, at most `limit` " +
    "(default 100); `truncated` says that there may be more.",
  input: findInputSchema,
  run: (input, context) => search(input, context, () => true),
});

export const globTool = defineTool<ToolInput<"glob">>({
  name: "glob",
  description:
    "Finds regular files by a glob over their paths relative to `path` (default: the workspace): `*` within a " +
    "name, `**` across directories, `{a,b}`, `[...]`; hidden ones included. Returns paths relative to the " +
    "workspace, at most `limit` (default 100); `truncated` says that there may be more.",
  input: globInputSchema,
  run: (input, context) => search(input, context, ({ type }) => type === "file"),
});

async function search(
  input: ToolInput<"find">,
  { workspace, files, signal }: ToolContext,
  isWanted: (found: Found) => boolean,
): Promise<ToolEnding> {
  const root = resolvePath(input.path ?? ".", {
    workspace,
    roots: fileRoots(workspace),
    field: "input.path",
  });
  const matches = globMatcher(input.pattern, "input.pattern");
  const ignores = (input.ignore ?? []).map((glob, index) => globMatcher(glob, `input.ignore.${index}`));
  const limit = input.limit ?? defaultLimit;
  const paths: string[] = [];
  let truncated = false;
  const found = walk({
    files,
    root,
    signal,
    isIgnored: (path) => ignores.some((ignore) => ignore(path)),
    onIncomplete: () => {
      truncated = true;
    },
  });
  for await (const entry of found) {
    if (!isWanted(entry) || !matches(entry.path)) continue;
    if (paths.length === limit) {
      truncated = true;
      break;
    }
    paths.push(shownPath(`${root}/${entry.path}`, workspace));
  }
  const shown = fitting(paths);
  return {
    outcome: { kind: "ok" },
    result: { paths: shown, truncated: truncated || shown.length < paths.length },
  };
}
