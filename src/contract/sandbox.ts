import { z } from "zod";
import { providerNames } from "./names.js";

/** Which session a resource belongs to: stable over continue-as-new, new when an id is used again. */
export const sessionIdentitySchema = z.object({
  sessionId: z.string().min(1),
  /** Run id of the first execution in the chain. */
  runId: z.string().min(1),
});
export type SessionIdentity = z.infer<typeof sessionIdentitySchema>;

export const generationSchema = z.object({
  number: z.number().int().positive(),
  /** Hash of session identity, artifact and environment; resume refuses another. */
  key: z.string().min(1),
});
export type Generation = z.infer<typeof generationSchema>;

/** Names a prepared template on one host. `data` is the provider's own, checked by its own schema. */
export const artifactSchema = z.object({
  version: z.literal(1),
  provider: z.enum(providerNames),
  hostId: z.string().min(1),
  templateKey: z.string().regex(/^[0-9a-f]{24}$/),
  data: z.record(z.string(), z.unknown()),
});
export type Artifact = z.infer<typeof artifactSchema>;

/** Names a live (or stopped) sandbox. A fresh worker on that host can do everything from it. */
export const handleSchema = z.object({
  version: z.literal(1),
  provider: z.enum(providerNames),
  hostId: z.string().min(1),
  /** The engine's own id, not a name: names can be taken over by another generation. */
  sandboxId: z.string().min(1),
  session: sessionIdentitySchema,
  generation: generationSchema,
  templateKey: z.string(),
  data: z.record(z.string(), z.unknown()),
});
export type Handle = z.infer<typeof handleSchema>;

/** What a provider can do on this host; `state` shows it, conformance skips by it. */
export const capabilitiesSchema = z.object({
  isolation: z.enum(["microvm", "container", "none"]),
  networks: z.array(z.enum(["deny-all", "allow-all", "lists"])),
  /** Whether setNetworkPolicy works on a running session. */
  networkSwitch: z.boolean(),
  /** Real processes: signals, background jobs, ps. */
  processes: z.boolean(),
  /** Whether a running command survives the death of the worker. */
  survivesWorker: z.boolean(),
  snapshots: z.boolean(),
  dockerfile: z.boolean(),
  searchEngine: z.enum(["ripgrep", "find-grep", "built-in"]),
  /** Named gaps, each with its reason, for people. */
  notes: z.array(z.string()),
});
export type Capabilities = z.infer<typeof capabilitiesSchema>;
