import { z } from "zod";
import { failureCodes } from "./names.js";

const sha256Schema = z.string().regex(/^[0-9a-f]{64}$/, "must be 64 lower-case hex digits");

/** A store makes a path or a URL of it, so no segment of it can climb or hide. */
const artifactKey = z
  .string()
  .max(300)
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9._-]*(\/[A-Za-z0-9][A-Za-z0-9._-]*)*$/,
    "must be a key of the artifact store",
  );

/** Bytes in the artifact store. */
export const artifactRefSchema = z.object({
  key: artifactKey,
  sha256: sha256Schema,
  sizeBytes: z.number().int().nonnegative(),
  mimeType: z.string().optional(),
});
export type ArtifactRef = z.infer<typeof artifactRefSchema>;

/** A file of a sandbox whose bytes are in the artifact store. */
export const artifactFileSchema = z.object({
  path: z.string().min(1).max(4096),
  ...artifactRefSchema.shape,
});
export type ArtifactFile = z.infer<typeof artifactFileSchema>;

/** Output of a command or content of a file: head and tail where it was cut, exact counts always. */
export const textSchema = z.object({
  text: z.string(),
  encoding: z.literal("base64").optional(),
  totalBytes: z.number().int().nonnegative(),
  omittedBytes: z.number().int().nonnegative(),
  full: artifactRefSchema.optional(),
});
export type Text = z.infer<typeof textSchema>;

/** What was asked, what happened (`message`) and what to do next (`hint`). */
export const failureSchema = z.object({
  code: z.enum(failureCodes),
  message: z.string(),
  field: z.string().optional(),
  hint: z.string().optional(),
});
export type Failure = z.infer<typeof failureSchema>;
export type FailureCode = Failure["code"];
