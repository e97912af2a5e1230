import { bashTool } from "./bash.js";
import { lsTool } from "./ls.js";
import { readTool } from "./read.js";
import type { Tools } from "./tool.js";
import { writeTool } from "./write.js";

/** The tools of this release by name. */
export function createTools(): Tools {
  return new Map([bashTool, readTool, writeTool, lsTool].map((tool) => [tool.name, tool]));
}
