import { z } from "zod";
import { callIdSchema } from "./call.js";
import { artifactFileSchema, failureSchema } from "./refs.js";
import { networkPolicySchema, timeoutsSchema } from "./spec.js";
import { sessionStatuses } from "./names.js";

export const cancelCallSchema = z.object({ callId: callIdSchema });
export type CancelCall = z.infer<typeof cancelCallSchema>;

export const stopSchema = z.object({
  /** Running calls may end by themselves for so long; 0 cancels them at once. Default 10,000. */
  graceMs: z.number().int().min(0).max(3_600_000).optional(),
  cancelQueued: z.boolean().optional(),
});
export type StopRequest = z.infer<typeof stopSchema>;

export const emptySchema = z.object({});

/** New values for the session's own timers; an absent one stays as it is. */
export const extendSchema = timeoutsSchema.pick({
  idleMs: true,
  stoppedTtlMs: true,
  maxLifetimeMs: true,
});
export type ExtendRequest = z.infer<typeof extendSchema>;

export const setNetworkPolicySchema = z.object({ network: networkPolicySchema });
export type SetNetworkPolicy = z.infer<typeof setNetworkPolicySchema>;

export const uploadSchema = z.object({
  files: z.array(artifactFileSchema).min(1).max(500),
  kind: z.enum(["upload", "skill"]).optional(),
});
export type UploadRequest = z.infer<typeof uploadSchema>;

export const uploadResultSchema = z.object({
  files: z.array(z.object({ path: z.string(), sizeBytes: z.number().int() })),
});
export type UploadResult = z.infer<typeof uploadResultSchema>;

export const collectResultSchema = z.object({
  files: z.array(artifactFileSchema),
  refused: z.array(failureSchema),
});
export type CollectResult = z.infer<typeof collectResultSchema>;

/** What control updates (cancelCall, stop, resume, delete, ...) return at once. */
export const acceptedSchema = z.object({
  accepted: z.literal(true),
  status: z.enum(sessionStatuses),
});
export type Accepted = z.infer<typeof acceptedSchema>;
