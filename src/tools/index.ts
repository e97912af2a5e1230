import { bashTool } from "./bash.js";
import { createEditTool } from "./edit.js";
import { findTool, globTool } from "./find.js";
import { grepTool } from "./grep.js";
import { lsTool } from "./ls.js";
import { createPathLocks } from "./path-locks.js";
import { readTool } from "./read.js";
import type { Tools } from "./tool.js";
import { createWriteTool } from "./write.js";

/** The tools of this release by name. */
export function createTools(): Tools {
  const locks = createPathLocks();
  const tools = [
    bashTool,
    readTool,
    createWriteTool(locks),
    createEditTool(locks),
    lsTool,
    findTool,
    globTool,
    grepTool,
  ];
  return new Map(tools.map((tool) => [tool.name, tool]));
}
