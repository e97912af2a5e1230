import { z } from "zod";
import { providerNames, sessionStatuses } from "./names.js";
import { artifactFileSchema, failureSchema } from "./refs.js";
import { capabilitiesSchema, generationSchema } from "./sandbox.js";
import { networkPolicySchema } from "./spec.js";

const time = z.iso.datetime();

export const backgroundSchema = z.object({
  pid: z.number().int(),
  command: z.string(),
  callId: z.string().optional(),
});
export type BackgroundProcess = z.infer<typeof backgroundSchema>;

/** Answer of the `state` query. */
export const stateSchema = z.object({
  sessionId: z.string(),
  runId: z.string(),
  status: z.enum(sessionStatuses),
  provider: z.enum(providerNames),
  host: z.string().optional(),
  sandboxId: z.string().optional(),
  generation: generationSchema.optional(),
  templateKey: z.string().optional(),
  network: networkPolicySchema,
  createdAt: time,
  lastActivityAt: time,
  expires: z.object({ idleAt: time.optional(), deleteAt: time.optional() }).optional(),
  calls: z.object({
    queued: z.number().int(),
    running: z.number().int(),
    done: z.number().int(),
  }),
  running: z.array(z.string()),
  toolCounts: z.record(z.string(), z.number().int()),
  background: z.array(backgroundSchema),
  rejected: z.array(failureSchema),
  failure: failureSchema.optional(),
  capabilities: capabilitiesSchema.partial(),
});
export type SessionView = z.infer<typeof stateSchema>;
export type SessionStatus = SessionView["status"];

/** Result of the workflow when it ends. */
export const summarySchema = z.object({
  sessionId: z.string(),
  status: z.literal("deleted"),
  reason: z.enum(["requested", "stopped-ttl", "max-lifetime"]),
  cleanup: z.enum(["done", "left-to-reaper"]),
  generations: z.number().int(),
  calls: z.number().int(),
  outputs: z.array(artifactFileSchema).optional(),
});
export type SessionSummary = z.infer<typeof summarySchema>;
