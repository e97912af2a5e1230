import { z } from "zod";
import { defaultMaxConcurrentCalls, defaultTimeouts, providerNames } from "./names.js";
import { artifactRefSchema } from "./refs.js";

/** 0 is an error and not "no limit": a session without a limit must say a large one. */
const durationMs = z.number().int().positive().max(Number.MAX_SAFE_INTEGER);
const sizeBytes = z.number().int().positive().max(Number.MAX_SAFE_INTEGER);

const envName = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, "must be a variable name: letters, digits, underscores");
const envValue = z.string().refine((value) => !value.includes("\0"), "must not contain NUL");
export const envSchema = z.record(envName, envValue);

/** Where the host finds a secret's value; the value itself is in no spec, history, log or label. */
export const secretSourceSchema = z.object({
  from: z.enum(["env", "file"]),
  key: z.string().min(1),
});
export type SecretSource = z.infer<typeof secretSourceSchema>;

export const networkPolicySchema = z.union([
  z.enum(["deny-all", "allow-all"]),
  z.object({
    allow: z.array(z.string().min(1)),
    subnets: z
      .object({ allow: z.array(z.string()).optional(), deny: z.array(z.string()).optional() })
      .optional(),
  }),
]);
export type NetworkPolicy = z.infer<typeof networkPolicySchema>;

export const templateSpecSchema = z.object({
  image: z.string().min(1).optional(),
  dockerfile: z.object({ text: z.string().min(1), context: artifactRefSchema.optional() }).optional(),
  pullPolicy: z.enum(["always", "if-missing", "never"]).optional(),
  setup: z.array(z.string().min(1)).optional(),
  resources: z
    .object({ workspace: artifactRefSchema.optional(), skills: artifactRefSchema.optional() })
    .optional(),
  env: envSchema.optional(),
  revision: z.string().optional(),
});
export type TemplateSpec = z.infer<typeof templateSpecSchema>;

export const limitsSchema = z.object({
  cpus: z.number().positive().optional(),
  memoryBytes: sizeBytes.optional(),
  pids: z.number().int().positive().optional(),
  outputBytes: sizeBytes.optional(),
  uploadsBytes: sizeBytes.optional(),
  outputsBytes: sizeBytes.optional(),
});

export const timeoutsSchema = z.object({
  idleMs: durationMs.optional(),
  stoppedTtlMs: durationMs.optional(),
  maxLifetimeMs: durationMs.optional(),
  startMs: durationMs.optional(),
  /** The one duration that may be 0: a lost host is given up at once. */
  hostLossMs: z.number().int().nonnegative().optional(),
});

/** The one argument of the `sandboxSession` workflow, as users write it. */
export const sessionSpecSchema = z.object({
  provider: z.enum(providerNames),
  template: templateSpecSchema.optional(),
  env: envSchema.optional(),
  secrets: z.record(envName, secretSourceSchema).optional(),
  network: networkPolicySchema.optional(),
  limits: limitsSchema.optional(),
  user: z.string().min(1).max(64).optional(),
  workspace: z
    .string()
    .regex(/^\/(?!\.\.?(\/|$))[^\0]+$/, "must be an absolute path")
    .refine((path) => !path.split("/").includes(".."), 'must not contain ".."')
    .optional(),
  timeouts: timeoutsSchema.optional(),
  maxConcurrentCalls: z.number().int().min(1).max(64).optional(),
  onLost: z.enum(["fail", "recreate"]).optional(),
  host: z.string().min(1).max(200).optional(),
  labels: z.record(z.string().min(1).max(200), z.string().max(4096)).optional(),
  warmPool: z.boolean().optional(),
});
export type SessionSpec = z.infer<typeof sessionSpecSchema>;

/** A spec with every default filled in, as placement returns it: what workflow and providers use. */
export interface ResolvedSpec {
  readonly provider: SessionSpec["provider"];
  readonly template: TemplateSpec;
  readonly env: Readonly<Record<string, string>>;
  readonly secrets: Readonly<Record<string, SecretSource>>;
  readonly network: NetworkPolicy;
  readonly limits: Readonly<Required<NonNullable<SessionSpec["limits"]>>>;
  readonly user: string;
  readonly workspace: string;
  readonly timeouts: Readonly<Required<NonNullable<SessionSpec["timeouts"]>>>;
  readonly maxConcurrentCalls: number;
  readonly onLost: "fail" | "recreate";
  readonly labels: Readonly<Record<string, string>>;
}

const defaultLimits = {
  cpus: 1,
  memoryBytes: 1024 ** 3,
  pids: 512,
  outputBytes: 1024 ** 3,
  uploadsBytes: 64 * 1024 ** 2,
  outputsBytes: 100 * 1024 ** 2,
};

/** Fills in the defaults of 8-wire. Pure: the same spec gives the same result on every host. */
export function resolveSpec(spec: SessionSpec): ResolvedSpec {
  return {
    provider: spec.provider,
    template: spec.template ?? {},
    env: spec.env ?? {},
    secrets: spec.secrets ?? {},
    network: spec.network ?? "deny-all",
    limits: { ...defaultLimits, ...defined(spec.limits) },
    user: spec.user ?? "sandbox",
    workspace: spec.workspace ?? "/workspace",
    timeouts: { ...defaultTimeouts, ...defined(spec.timeouts) },
    maxConcurrentCalls: spec.maxConcurrentCalls ?? defaultMaxConcurrentCalls,
    onLost: spec.onLost ?? "fail",
    labels: spec.labels ?? {},
  };
}

/** Without the keys whose value is undefined, which would otherwise overwrite a default. */
function defined<T extends object>(value: T | undefined): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(value ?? {}).filter(([, entry]) => entry !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };
}
