import { z } from "zod";
import { envSchema } from "./environment.js";
import { limits } from "./names.js";
import { artifactRefSchema, textSchema } from "./refs.js";
import { backgroundSchema } from "./state.js";

const path = z
  .string()
  .min(1)
  .max(4096)
  .refine((value) => !value.includes("\0"), "must not contain NUL")
  .describe("Path in the sandbox; a relative one starts at the workspace.");
const noNul = (name: string) =>
  z.string().refine((value) => !value.includes("\0"), `${name} must not contain NUL`);
const limit = z.number().int().min(1).max(1000).describe("At most so many entries (default 100).");
const mode = z.number().int().min(0).max(0o777).describe("Permission bits, as a decimal number.");
const encoding = z.enum(["utf8", "base64"]);

export const bashInputSchema = z.object({
  command: noNul("command").min(1).describe("Bash script to run; each call starts in a fresh shell."),
  cwd: path.optional().describe("Directory to run in (default: the workspace)."),
  env: envSchema.optional().describe("Variables for this command only."),
  timeoutMs: z.number().int().positive().max(limits.durationMs).optional(),
});
export const bashResultSchema = z.object({
  stdout: textSchema,
  stderr: textSchema,
  background: z.array(backgroundSchema).optional(),
});

export const readInputSchema = z.object({
  path,
  offset: z.number().int().min(1).optional().describe("First line to return, counted from 1."),
  limit: z.number().int().min(1).max(2000).optional().describe("At most so many lines."),
  encoding: encoding.optional().describe("base64 returns the bytes of a binary file."),
});
export const readResultSchema = z.object({
  content: textSchema,
  totalLines: z.number().int().optional(),
  /** The `offset` that continues where this answer was cut. */
  nextOffset: z.number().int().optional(),
  mode: z.number().int(),
});

export const writeInputSchema = z
  .object({
    path,
    content: z.string().optional(),
    ref: artifactRefSchema.optional().describe("Content from the artifact store, of any size."),
    encoding: encoding.optional().describe("Encoding of `content` (default utf8)."),
    mode: mode.optional(),
  })
  .refine((input) => (input.content === undefined) !== (input.ref === undefined), {
    error: "give either content or ref",
    path: ["content"],
  });
export const writeResultSchema = z.object({
  sizeBytes: z.number().int(),
  created: z.boolean(),
});

export const editInputSchema = z.object({
  path,
  edits: z
    .array(
      z.object({
        oldText: z.string().min(1),
        newText: z.string(),
        replaceAll: z.boolean().optional(),
      }),
    )
    .min(1)
    .max(1000),
});
export const editResultSchema = z.object({ replacements: z.number().int(), diff: z.string() });

export const lsInputSchema = z.object({ path: path.optional(), limit: limit.optional() });
/** A name that is not UTF-8 is shown escaped, with its bytes beside it. */
const name = { name: z.string(), nameBase64: z.string().optional() };
export const lsEntrySchema = z.object({
  ...name,
  type: z.enum(["dir", "file", "link", "other"]),
  sizeBytes: z.number().int(),
});
export const lsResultSchema = z.object({
  entries: z.array(lsEntrySchema),
  truncated: z.boolean(),
});

export const findInputSchema = z.object({
  pattern: noNul("pattern").min(1),
  path: path.optional(),
  ignore: z.array(noNul("ignore").min(1)).max(100).optional(),
  limit: limit.optional(),
});
export const globInputSchema = findInputSchema.omit({ ignore: true });
export const pathsResultSchema = z.object({
  paths: z.array(z.string()),
  truncated: z.boolean(),
});

export const grepInputSchema = z.object({
  pattern: noNul("pattern").min(1),
  path: path.optional(),
  glob: noNul("glob").min(1).optional(),
  ignoreCase: z.boolean().optional(),
  literal: z.boolean().optional(),
  context: z.number().int().min(0).max(20).optional(),
  filesOnly: z.boolean().optional(),
  limit: limit.optional(),
});
export const grepResultSchema = z.object({
  matches: z.array(
    z.object({
      path: z.string(),
      line: z.number().int(),
      text: z.string(),
      before: z.array(z.string()).optional(),
      after: z.array(z.string()).optional(),
    }),
  ),
  files: z.array(z.string()).optional(),
  truncated: z.boolean(),
  warnings: z.array(z.string()),
});

/** Input and result of each tool. */
export const toolSchemas = {
  bash: { input: bashInputSchema, result: bashResultSchema },
  read: { input: readInputSchema, result: readResultSchema },
  write: { input: writeInputSchema, result: writeResultSchema },
  edit: { input: editInputSchema, result: editResultSchema },
  ls: { input: lsInputSchema, result: lsResultSchema },
  find: { input: findInputSchema, result: pathsResultSchema },
  glob: { input: globInputSchema, result: pathsResultSchema },
  grep: { input: grepInputSchema, result: grepResultSchema },
} as const;

export type ToolName = keyof typeof toolSchemas;
export type ToolInput<T extends ToolName> = z.infer<(typeof toolSchemas)[T]["input"]>;
export type ToolResult<T extends ToolName> = z.infer<(typeof toolSchemas)[T]["result"]>;
