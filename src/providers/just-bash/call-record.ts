import { stat } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { outcomeSchema } from "../../contract/call.js";
import { cancelledBySchema } from "../../contract/call.js";
import type { CallEnd, Offsets } from "../channel.js";
import { createJson, isErrno, readJson } from "./durable-file.js";
import { processIdentitySchema } from "./process-identity.js";

/** Who claimed a call, and for which script. Created once, before anything starts; stays as the tombstone. */
const claimSchema = z.object({
  version: z.literal(1),
  callId: z.string(),
  requestHash: z.string(),
  owner: processIdentitySchema.extend({ epoch: z.string() }),
  startedAtMs: z.number(),
});
export type Claim = z.infer<typeof claimSchema>;

const endSchema = z.object({
  version: z.literal(1),
  outcome: outcomeSchema,
  totals: z.object({ stdout: z.number().int(), stderr: z.number().int() }),
  startedAtMs: z.number(),
  endedAtMs: z.number(),
});

/** Asks the process that runs a call to end it. */
const killSchema = z.object({ cause: cancelledBySchema, graceMs: z.number() });
export type KillRequest = z.infer<typeof killSchema>;

/** One call's directory: claim.json, then stdout and stderr, then end.json, then acknowledged.json. */
export class CallRecord {
  readonly directory: string;

  constructor(directory: string) {
    this.directory = directory;
  }

  outputPath(stream: "stdout" | "stderr"): string {
    return join(this.directory, stream);
  }

  readClaim(): Promise<Claim | undefined> {
    return readJson(join(this.directory, "claim.json"), claimSchema, "claim of a call");
  }

  /** False: somebody else was first. */
  createClaim(claim: Claim): Promise<boolean> {
    return createJson(join(this.directory, "claim.json"), claim);
  }

  async readEnd(): Promise<CallEnd | undefined> {
    const end = await readJson(join(this.directory, "end.json"), endSchema, "end of a call");
    // `ok` is an outcome of tools only: the schema is wider than what is written here.
    if (end === undefined || end.outcome.kind === "ok") return undefined;
    const { outcome, totals, startedAtMs, endedAtMs } = end;
    return { outcome, totals, startedAtMs, endedAtMs, background: [] };
  }

  /** The first end that is recorded holds; a later one changes nothing. */
  async createEnd(end: Omit<CallEnd, "background">): Promise<void> {
    await createJson(join(this.directory, "end.json"), { version: 1, ...end });
  }

  readKill(): Promise<KillRequest | undefined> {
    return readJson(join(this.directory, "kill.json"), killSchema, "kill request of a call");
  }

  async createKill(request: KillRequest): Promise<void> {
    await createJson(join(this.directory, "kill.json"), request);
  }

  async isAcknowledged(): Promise<boolean> {
    return (await sizeOf(join(this.directory, "acknowledged.json"))) !== undefined;
  }

  async createAcknowledged(): Promise<void> {
    await createJson(join(this.directory, "acknowledged.json"), {});
  }

  /** What is on disk of the output, finished or not. */
  async sizes(): Promise<Offsets> {
    return {
      stdout: (await sizeOf(this.outputPath("stdout"))) ?? 0,
      stderr: (await sizeOf(this.outputPath("stderr"))) ?? 0,
    };
  }
}

async function sizeOf(path: string): Promise<number | undefined> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if (isErrno(error, "ENOENT")) return undefined;
    throw error;
  }
}
