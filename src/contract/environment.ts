import { z } from "zod";
import { limits } from "./names.js";

/** By hand: workflow code, which imports the contract's types, is compiled without Node's and the DOM's. */
export function utf8Bytes(text: string): number {
  let sizeBytes = 0;
  for (const character of text) {
    const point = character.codePointAt(0) ?? 0;
    sizeBytes += point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
  }
  return sizeBytes;
}

export const envNameSchema = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, "must be a variable name: letters, digits, underscores")
  .max(limits.envNameChars);

const envValue = z.string().refine((value) => !value.includes("\0"), "must not contain NUL");

/**
 * Variables, public: they are in the workflow's history for ever. Bounded, because they travel with each
 * call and because Linux refuses to start a program with a longer `NAME=value`.
 */
export const envSchema = z.record(envNameSchema, envValue).superRefine((env, context) => {
  for (const [name, value] of Object.entries(env)) {
    // The two bytes are the "=" and the NUL that ends the entry.
    if (utf8Bytes(name) + utf8Bytes(value) + 2 <= limits.envEntryBytes) continue;
    const message = `must be smaller than ${limits.envEntryBytes} bytes with its name: write a file and read it`;
    context.addIssue({ code: "custom", path: [name], message });
    return;
  }
  const sizeBytes = utf8Bytes(JSON.stringify(env));
  if (sizeBytes <= limits.envBytes) return;
  const message = `all variables together must be at most ${limits.envBytes} bytes of JSON, these are ${sizeBytes}`;
  context.addIssue({ code: "custom", message });
});

/** Keys become part of engine labels and arguments, so they hold nothing that an engine takes apart. */
const labelKey = z
  .string()
  .max(limits.labelKeyChars)
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9._/-]*$/,
    "must start with a letter or digit and hold only letters, digits, and . _ / -",
  )
  .refine((key) => !key.startsWith("dev.holdfast."), 'must not start with "dev.holdfast."');

/** The user's own labels. Values are free text: commas, quotes and newlines survive. */
export const labelsSchema = z
  .record(labelKey, z.string().max(limits.labelValueChars))
  .superRefine((labels, context) => {
    const count = Object.keys(labels).length;
    const sizeBytes = utf8Bytes(JSON.stringify(labels));
    if (count <= limits.labels && sizeBytes <= limits.labelsBytes) return;
    const message = `at most ${limits.labels} labels and ${limits.labelsBytes} bytes of JSON in all`;
    context.addIssue({ code: "custom", message });
  });
