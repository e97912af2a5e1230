import { z } from "zod";
import { createTools } from "./index.js";
import type { Tools } from "./tool.js";

/** A tool as model APIs take it. */
export interface ToolDefinitionForModels {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the input. */
  readonly parameters: Record<string, unknown>;
}

/** Definitions of tools, to be handed to a model as they are. Default: all of this release. */
export function toolDefinitions(tools: Tools = createTools()): ToolDefinitionForModels[] {
  return [...tools.values()].map(({ name, description, input }) => {
    const parameters: Record<string, unknown> = z.toJSONSchema(input, { io: "input" });
    // Model APIs take the bare schema; some refuse the name of its dialect.
    delete parameters.$schema;
    return { name, description, parameters };
  });
}
