import { posix } from "node:path";
import { grepInputSchema, type ToolInput, type ToolResult } from "../contract/tools.js";
import { fitting } from "./fitting.js";
import { globMatcher } from "./glob-matcher.js";
import { grepFile } from "./grep-file.js";
import { lineMatcher } from "./grep-pattern.js";
import { mapOrdered } from "./map-ordered.js";
import { resolvePath, searchRoots, shownPath } from "./paths.js";
import { defineTool, type ToolContext } from "./tool.js";
import { walk } from "./walk.js";

const defaultLimit = 100;
const maxWarnings = 20;
/** Reading is mostly waiting for the sandbox; each file may take 16 MB of the worker's memory. */
const filesAtOnce = 4;

type GrepInput = ToolInput<"grep">;
type GrepResult = ToolResult<"grep">;

export const grepTool = defineTool<GrepInput>({
  name: "grep",
  description:
    "Searches the lines of files for a regular expression (RE2 syntax; or the text itself with `literal`) below " +
    "`path` (default: the workspace; also a single file). Hidden files included, ignore files not applied; .git, " +
    "links and binary files (with a NUL) are left out. `glob` selects files: without a slash by name, with one " +
    "by path below `path`, with a leading ! what to leave out. Returns at most `limit` matches (default 100), " +
    "with `context` lines around them, or only the files' paths with `filesOnly`; `truncated` says that there " +
    "may be more, `warnings` what could not be searched.",
  input: grepInputSchema,
  async run(input, context) {
    const result = await grep(input, context);
    const matches = fitting(result.matches);
    const truncated = result.truncated || matches.length < result.matches.length;
    return { outcome: { kind: "ok" }, result: { ...result, matches, truncated } };
  },
});

async function grep(input: GrepInput, context: ToolContext): Promise<GrepResult> {
  const { workspace, files, signal } = context;
  const roots = searchRoots(workspace);
  const root = resolvePath(input.path ?? ".", { workspace, roots, field: "input.path" });
  const matcher = lineMatcher(input);
  const limit = input.limit ?? defaultLimit;
  const found: GrepResult = { matches: [], files: [], truncated: false, warnings: [] };
  const warn = (path: string, warning: string) => {
    if (found.warnings.length < maxWarnings) found.warnings.push(`${shownPath(path, workspace)} ${warning}`);
  };
  const candidates = filesBelow(root, input, context, {
    onIncomplete: () => {
      found.truncated = true;
    },
    warn,
  });
  const searched = mapOrdered(candidates, filesAtOnce, (path) =>
    grepFile({
      files,
      path,
      matches: matcher,
      context: input.context ?? 0,
      // One more than is shown tells that there are more.
      limit: input.filesOnly === true ? 1 : limit + 1,
      signal,
    }),
  );
  for await (const { path, matches, warning } of searched) {
    if (warning !== undefined) warn(path, warning);
    const shown = shownPath(path, workspace);
    if (matches.length > 0) found.files?.push(shown);
    if (input.filesOnly !== true) found.matches.push(...matches.map((match) => ({ path: shown, ...match })));
    const hits = input.filesOnly === true ? found.files : found.matches;
    if (hits === undefined || hits.length <= limit) continue;
    hits.length = limit;
    found.truncated = true;
    break;
  }
  if (input.filesOnly !== true) delete found.files;
  return found;
}

/** Absolute paths of the files to search; the root itself when it is one. */
async function* filesBelow(
  root: string,
  input: GrepInput,
  { files, signal }: ToolContext,
  notes: { onIncomplete(): void; warn(path: string, warning: string): void },
): AsyncGenerator<string, void> {
  const isSelected = fileSelector(input.glob);
  if ((await files.stat(root))?.type === "file") {
    yield root;
    return;
  }
  const entries = walk({
    files,
    root,
    signal,
    isIgnored: (path) => posix.basename(path) === ".git",
    onIncomplete: () => {
      notes.onIncomplete();
    },
  });
  for await (const { path, type, isExact } of entries) {
    if (type !== "file" || !isSelected(path)) continue;
    if (isExact) yield `${root}/${path}`;
    else notes.warn(`${root}/${path}`, "has a name that is not UTF-8: not searched");
  }
}

function fileSelector(glob: string | undefined): (path: string) => boolean {
  if (glob === undefined) return () => true;
  const excludes = glob.startsWith("!");
  const pattern = excludes ? glob.slice(1) : glob;
  const matches = globMatcher(pattern, "input.glob");
  const byName = !pattern.includes("/");
  return (path) => matches(byName ? posix.basename(path) : path) !== excludes;
}
