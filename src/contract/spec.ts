import { z } from "zod";
import { envNameSchema, envSchema, labelsSchema } from "./environment.js";
import { defaultMaxConcurrentCalls, defaultTimeouts, limits, providerNames, hostIdPattern } from "./names.js";
import { artifactRefSchema } from "./refs.js";

/** 0 is an error and not "no limit": a session without a limit must say a large one. */
const durationMs = z.number().int().positive().max(limits.durationMs);
const sizeBytes = z.number().int().positive().max(Number.MAX_SAFE_INTEGER);

/** Where the host finds a secret's value; the value itself is in no spec, history, log or label. */
export const secretSourceSchema = z.object({
  from: z.enum(["env", "file"]),
  key: z.string().min(1),
});
export type SecretSource = z.infer<typeof secretSourceSchema>;

const rules = z.array(z.string().min(1).max(300)).max(500);

export const networkPolicySchema = z.union(
  [
    z.enum(["deny-all", "allow-all"]),
    z.object({
      allow: rules,
      subnets: z.object({ allow: rules.optional(), deny: rules.optional() }).optional(),
    }),
  ],
  { error: 'must be "deny-all", "allow-all" or { allow: [...], subnets?: { allow?: [...], deny?: [...] } }' },
);
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
  hostLossMs: z.number().int().nonnegative().max(limits.durationMs).optional(),
});

const sessionSpecShape = z.object({
  provider: z.enum(providerNames),
  template: templateSpecSchema.optional(),
  env: envSchema.optional(),
  secrets: z.record(envNameSchema, secretSourceSchema).optional(),
  network: networkPolicySchema.optional(),
  limits: limitsSchema.optional(),
  user: z
    .string()
    .max(64)
    .regex(/^[A-Za-z0-9_][A-Za-z0-9_.-]*$/, "must be a user name or number")
    .optional(),
  workspace: z
    .string()
    .regex(/^\/(?!\.\.?(\/|$))[^\0]+$/, "must be an absolute path")
    .refine((path) => !path.split("/").includes(".."), 'must not contain ".."')
    .optional(),
  timeouts: timeoutsSchema.optional(),
  maxConcurrentCalls: z.number().int().min(1).max(64).optional(),
  onLost: z.enum(["fail", "recreate"]).optional(),
  host: z
    .string()
    .regex(hostIdPattern, "must be a host id: letters, digits, dots, dashes, underscores")
    .optional(),
  labels: labelsSchema.optional(),
  warmPool: z.boolean().optional(),
});

/** The one argument of the `sandboxSession` workflow, as users write it. */
export const sessionSpecSchema = sessionSpecShape.superRefine(({ provider, template }, context) => {
  const refuse = (field: "image" | "dockerfile" | undefined, message: string) => {
    context.addIssue({
      code: "custom",
      path: field === undefined ? ["template"] : ["template", field],
      message,
    });
  };
  const { image, dockerfile } = template ?? {};
  if (image !== undefined && dockerfile !== undefined) {
    refuse("dockerfile", "give either template.image or template.dockerfile, not both");
  }
  if ((provider === "docker" || provider === "msb") && image === undefined && dockerfile === undefined) {
    refuse(undefined, `provider ${provider} needs template.image or template.dockerfile`);
  }
  if (provider === "just-bash" && (image ?? dockerfile) !== undefined) {
    refuse(image === undefined ? "dockerfile" : "image", "provider just-bash has no images: leave it out");
  }
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
