import { bashInputSchema, type ToolInput } from "../contract/tools.js";
import type { BackgroundProcess } from "../contract/state.js";
import { commandRoots, resolvePath } from "./paths.js";
import { defineTool } from "./tool.js";

const maxBackground = 50;
const maxCommandCharacters = 200;

export const bashTool = defineTool<ToolInput<"bash">>({
  name: "bash",
  description:
    "Runs a bash script in the sandbox and returns its stdout, stderr and exit code. Each call starts in a " +
    "fresh shell in the workspace: cd and export do not last, files do. stdin is empty. Output beyond 50 KB, " +
    "2,000 lines or 2,000 characters a line keeps its beginning and end; `full` then refers to all of it.",
  input: bashInputSchema,
  // It may be: most commands are, and one that isn't is handed over as running.
  async run(input, context) {
    const { workspace } = context;
    const cwd = resolvePath(input.cwd ?? ".", {
      workspace,
      roots: commandRoots(workspace),
      field: "input.cwd",
    });
    const end = await context.runCommand({
      script: input.command,
      cwd,
      env: input.env ?? {},
      ...(input.timeoutMs === undefined ? {} : { timeoutMs: input.timeoutMs }),
    });
    const background = end.background.slice(0, maxBackground).map(shortened);
    return {
      outcome: end.outcome,
      result: {
        stdout: end.stdout,
        stderr: end.stderr,
        ...(background.length === 0 ? {} : { background }),
      },
      startedAtMs: end.startedAtMs,
      endedAtMs: end.endedAtMs,
      background,
    };
  },
});

/** A command line may be megabytes long; the answer has a budget. */
function shortened(process: BackgroundProcess): BackgroundProcess {
  return { ...process, command: process.command.slice(0, maxCommandCharacters) };
}
