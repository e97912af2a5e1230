import { z } from "zod";
import type { RunRequest } from "../channel.js";

const commandSchema = z.object({
  stdout: z.string().optional(),
  stderr: z.string().optional(),
  exitCode: z.number().int().min(0).max(255).optional(),
  /** Output comes at once, the end only after this. */
  delayMs: z.number().int().nonnegative().optional(),
  /** The command is lost, for this reason. */
  lost: z.string().optional(),
});

/** What a command of the fake does. */
export type FakeCommand = z.infer<typeof commandSchema>;

/** Decides what a command does, by whatever it likes. */
export type FakeScript = (request: RunRequest) => FakeCommand;

/**
 * The fake's own little language: a command that is a JSON object says what it does,
 * `{"stdout":"x","stderr":"","exitCode":3,"delayMs":100,"lost":"why"}`; any other text prints itself.
 */
export const jsonScript: FakeScript = ({ script }) => {
  const text = script.trim();
  if (!text.startsWith("{")) return { stdout: `${text}\n` };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // As a shell would: what can't be parsed is a syntax error of the command, not of the provider.
    return { stderr: "fake: not a JSON object\n", exitCode: 2 };
  }
  const parsed = commandSchema.safeParse(value);
  return parsed.success ? parsed.data : { stderr: `fake: ${parsed.error.message}\n`, exitCode: 2 };
};
