import { mkdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { z } from "zod";
import type { WriteRecord } from "../../channel.js";
import { ProviderError } from "../../errors.js";
import { createJson, isErrno, readJson, replaceJson } from "../durable-file.js";
import { callName } from "../layout.js";

const intentSchema = z.object({
  callId: z.string(),
  requestHash: z.string(),
  created: z.boolean(),
  sizeBytes: z.number().int(),
  result: z.unknown().optional(),
  /** The file's path in the sandbox, links resolved, and the name its new content waits under beside it. */
  path: z.string(),
  temporaryName: z.string(),
});
type Intent = z.infer<typeof intentSchema>;

/**
 * Makes a write happen at most once per call. An intent is recorded before the rename, a completion after it;
 * when a process died between the two, the temporary file decides: renamed away, the write has happened.
 */
export class WriteRecords {
  readonly #directory: string;
  readonly #removeFile: (path: string) => Promise<boolean>;

  /** `removeFile` removes a file of the sandbox and tells whether it was there. */
  constructor(directory: string, removeFile: (path: string) => Promise<boolean>) {
    this.#directory = directory;
    this.#removeFile = removeFile;
  }

  async intend(intent: Intent): Promise<void> {
    await mkdir(this.#directory, { recursive: true, mode: 0o700 });
    await replaceJson(this.#path(intent.callId, "intent"), intent);
  }

  async complete(callId: string): Promise<void> {
    await createJson(this.#path(callId, "done"), {});
  }

  async forget(callId: string, temporary: string): Promise<void> {
    if (await this.#isDone(callId)) return;
    try {
      await rm(temporary);
    } catch (error) {
      // Renamed after all: the write has happened, its record stays.
      if (isErrno(error, "ENOENT")) return;
      throw error;
    }
    await rm(this.#path(callId, "intent"), { force: true });
  }

  async find(callId: string, requestHash: string): Promise<WriteRecord | undefined> {
    const intent = await readJson(this.#path(callId, "intent"), intentSchema, "record of a write");
    if (intent === undefined) return undefined;
    if (intent.requestHash !== requestHash) {
      throw new ProviderError("conflict", `call ${callId} was used for another write`, {
        field: "callId",
        hint: "Use a new callId for a new request.",
      });
    }
    if (!(await this.#isDone(callId)) && (await this.#undo(intent))) return undefined;
    const { created, sizeBytes, result } = intent;
    return { created, sizeBytes, ...(result === undefined ? {} : { result }) };
  }

  /** True when the rename had not happened, and now can't any more. */
  async #undo(intent: Intent): Promise<boolean> {
    if (await this.#removeFile(join(dirname(intent.path), intent.temporaryName))) {
      await rm(this.#path(intent.callId, "intent"), { force: true });
      return true;
    }
    await this.complete(intent.callId);
    return false;
  }

  async #isDone(callId: string): Promise<boolean> {
    return (await readJson(this.#path(callId, "done"), z.object({}), "record of a write")) !== undefined;
  }

  #path(callId: string, part: "intent" | "done"): string {
    return join(this.#directory, `${callName(callId)}.${part}.json`);
  }
}
