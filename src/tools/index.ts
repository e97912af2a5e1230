import { bashTool } from "./bash.js";
import { editTool } from "./edit.js";
import { findTool, globTool } from "./find.js";
import { lsTool } from "./ls.js";
import { readTool } from "./read.js";
import type { Tools } from "./tool.js";
import { writeTool } from "./write.js";

/** The tools of this release by name. */
export function createTools(): Tools {
  return new Map(
    [bashTool, readTool, writeTool, editTool, lsTool, findTool, globTool].map((tool) => [tool.name, tool]),
  );
}
