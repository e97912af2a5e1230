import { z } from "zod";
import { utf8Bytes } from "./environment.js";
import { limits, loneSurrogate, toolNames } from "./names.js";
import { artifactRefSchema, failureSchema } from "./refs.js";

function wellFormed(schema: z.ZodString) {
  return schema.refine((text) => !loneSurrogate.test(text), "must be well-formed text");
}

/** The server limits bytes, and refuses the whole workflow task beyond. */
const nameSchema = wellFormed(z.string().min(1).max(1000)).refine(
  (text) => utf8Bytes(text) <= 1000,
  "must be at most 1,000 bytes",
);

export const callIdSchema = wellFormed(z.string().min(1).max(limits.callIdChars));

const timeoutMs = z.number().int().positive().max(limits.durationMs);
const waitMs = z.number().int().min(0).max(limits.waitMs);

/** Where the answer is signalled to, in the same namespace. */
export const replyToSchema = z.object({
  workflowId: nameSchema,
  signal: nameSchema,
});
export type ReplyTo = z.infer<typeof replyToSchema>;

/** One tool call, as signal. `callId` is the caller's, unique for the session's life. */
export const callRequestSchema = z.object({
  callId: callIdSchema,
  tool: z.enum(toolNames),
  /** The tool's input (see tools.ts), or a JSON file in the store: `{ ref }`. */
  input: z.record(z.string(), z.unknown()),
  timeoutMs: timeoutMs.optional(),
  replyTo: replyToSchema.optional(),
});
export type CallRequest = z.infer<typeof callRequestSchema>;

/** The same as update; the update holds for `waitMs` (default and most 30,000), then says `running`. */
export const callUpdateSchema = callRequestSchema.extend({ waitMs: waitMs.optional() });
export type CallUpdate = z.infer<typeof callUpdateSchema>;

export const awaitCallSchema = z.object({ callId: callIdSchema, waitMs: waitMs.optional() });
export type AwaitCall = z.infer<typeof awaitCallSchema>;

/** An `input` that is in the store. Nothing else beside `ref`: `write` has a `ref` of its own. */
export const inputRefSchema = z.strictObject({ ref: artifactRefSchema });

/** Who ended a call that did not end by itself. */
export const cancelledBySchema = z.enum(["cancelCall", "stop", "delete", "workflow-cancel"]);
export type CancelledBy = z.infer<typeof cancelledBySchema>;

/** How a call ended. What a command did is a value, never an exception. */
export const outcomeSchema = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("exited"), exitCode: z.number().int() }),
  z.object({
    kind: z.literal("signaled"),
    signal: z.string(),
    /** 128 + the signal's number, as a shell reports it. */
    exitCode: z.number().int(),
    oom: z.boolean().optional(),
  }),
  z.object({ kind: z.literal("timed-out"), timeoutMs: z.number() }),
  z.object({ kind: z.literal("cancelled"), by: cancelledBySchema }),
  z.object({
    kind: z.literal("output-limit"),
    stream: z.enum(["stdout", "stderr"]),
    limitBytes: z.number(),
  }),
  z.object({ kind: z.literal("lost"), reason: z.string() }),
  z.object({ kind: z.literal("ok") }),
  z.object({ kind: z.literal("error"), error: failureSchema }),
]);
export type Outcome = z.infer<typeof outcomeSchema>;

export const callStatusSchema = z.enum(["queued", "running", "done", "rejected"]);
export type CallStatus = z.infer<typeof callStatusSchema>;

export const replyOutcomeSchema = z.enum(["delivered", "undeliverable"]);

const time = z.iso.datetime();

/** An answer: update result, `call` query, argument of the `replyTo` signal. */
export const answerSchema = z.object({
  sessionId: z.string(),
  callId: z.string(),
  tool: z.string(),
  status: callStatusSchema,
  outcome: outcomeSchema.optional(),
  result: z.record(z.string(), z.unknown()).optional(),
  /** Number of the sandbox generation that ran it: a higher one means files were recreated. */
  generation: z.number().int().optional(),
  /** A claim that no history knew, found in the sandbox and adopted. */
  origin: z.literal("unrecorded").optional(),
  queuedAt: time,
  startedAt: time.optional(),
  endedAt: time.optional(),
  durationMs: z.number().optional(),
  reply: replyOutcomeSchema.optional(),
});
export type Answer = z.infer<typeof answerSchema>;

/** A line of the `calls` query. */
export const callSummarySchema = answerSchema.pick({
  callId: true,
  tool: true,
  status: true,
  outcome: true,
  startedAt: true,
  endedAt: true,
});
export type CallSummary = z.infer<typeof callSummarySchema>;
