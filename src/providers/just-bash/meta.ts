import { join } from "node:path";
import { z } from "zod";
import { generationSchema, sessionIdentitySchema, type Handle } from "../../contract/sandbox.js";
import { ProviderError } from "../errors.js";
import { readJson } from "./durable-file.js";
import type { Layout } from "./layout.js";

const common = { version: z.literal(1), owner: z.string().min(1), createdAtMs: z.number().int().positive() };

export const templateMetaSchema = z.object({
  ...common,
  role: z.literal("template"),
  templateKey: z.string(),
});
export type TemplateMeta = z.infer<typeof templateMetaSchema>;

/** What a session is, on disk: the truth behind its handle. Holds public variables only, never a secret. */
export const sessionMetaSchema = z.object({
  ...common,
  role: z.literal("session"),
  session: sessionIdentitySchema,
  generation: generationSchema,
  templateKey: z.string(),
  state: z.enum(["running", "stopped"]),
  /** New at each start and resume. */
  epoch: z.string().min(1),
  /** The template's variables and the session's. */
  env: z.record(z.string(), z.string()),
  network: z.enum(["deny-all", "allow-all"]),
  user: z.string(),
  workspace: z.string(),
  memoryBytes: z.number().int().positive(),
});
export type SessionMeta = z.infer<typeof sessionMetaSchema>;

export const removalMetaSchema = z.object({
  ...common,
  role: z.literal("removal"),
  session: sessionIdentitySchema,
  upToGeneration: z.number().int().positive(),
});

const stagingMetaSchema = z.object({ ...common, role: z.literal("staging") });

export const anyMetaSchema = z.discriminatedUnion("role", [
  templateMetaSchema,
  sessionMetaSchema,
  removalMetaSchema,
  stagingMetaSchema,
]);

export async function readSessionMeta(directory: string): Promise<SessionMeta | undefined> {
  return readJson(join(directory, "meta.json"), sessionMetaSchema, "session record");
}

/** The part of a host that says where its records are and whose they must be. */
interface HostPlace {
  readonly hostId: string;
  readonly owner: string;
  readonly layout: Layout;
}

/** The session's directory and record, or why the handle names nothing usable here. */
export async function openSession(
  host: HostPlace,
  handle: Handle,
): Promise<{ directory: string; meta: SessionMeta }> {
  const { sessionId } = handle.session;
  if (handle.provider !== "just-bash" || !/^[0-9a-f]{24}$/.test(handle.sandboxId)) {
    throw new ProviderError("invalid-request", `the handle of session ${sessionId} is not one of just-bash`);
  }
  if (handle.hostId !== host.hostId) {
    throw new ProviderError(
      "unreachable",
      `session ${sessionId} is on host ${handle.hostId}, this is ${host.hostId}`,
      { hint: "Send it to the queue of that host." },
    );
  }
  const directory = join(host.layout.sessions, handle.sandboxId);
  const meta = await readSessionMeta(directory);
  if (meta === undefined) {
    throw new ProviderError("session-lost", `the directory of session ${sessionId} is gone from this host`, {
      hint: "Start the session again; its files are lost.",
    });
  }
  if (meta.owner !== host.owner || meta.generation.key !== handle.generation.key) {
    throw new ProviderError(
      "conflict",
      `the directory of session ${sessionId} belongs to another generation or installation`,
      { hint: "Use the handle of the newest generation." },
    );
  }
  return { directory, meta };
}

export function handleOf(host: Pick<HostPlace, "hostId">, name: string, meta: SessionMeta): Handle {
  return {
    version: 1,
    provider: "just-bash",
    hostId: host.hostId,
    sandboxId: name,
    session: meta.session,
    generation: meta.generation,
    templateKey: meta.templateKey,
    data: { epoch: meta.epoch },
  };
}
