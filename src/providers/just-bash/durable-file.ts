import { randomUUID } from "node:crypto";
import { link, readFile, rename, rm, writeFile } from "node:fs/promises";
import type { z } from "zod";
import { ProviderError } from "../errors.js";

/** Replaces a file as a whole: a reader sees the old or the new content, never a part. */
export async function replaceJson(path: string, value: unknown): Promise<void> {
  const temporary = temporaryName(path);
  await writeFile(temporary, JSON.stringify(value), { mode: 0o600 });
  await rename(temporary, path);
}

/**
 * Creates a file with its whole content, or tells that it exists: of several writers, in whatever process,
 * one wins. `link` is what makes both true at once; an exclusive open would show an empty file first.
 */
export async function createJson(path: string, value: unknown): Promise<boolean> {
  const temporary = temporaryName(path);
  await writeFile(temporary, JSON.stringify(value), { mode: 0o600 });
  try {
    await link(temporary, path);
    return true;
  } catch (error) {
    if (isErrno(error, "EEXIST")) return false;
    throw error;
  } finally {
    await rm(temporary, { force: true });
  }
}

/** Undefined when there is no such file. What doesn't match the schema is `internal`, naming the file's role. */
export async function readJson<T>(path: string, schema: z.ZodType<T>, role: string): Promise<T | undefined> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    if (isErrno(error, "ENOENT", "ENOTDIR")) return undefined;
    throw error;
  }
  try {
    return schema.parse(JSON.parse(text));
  } catch (error) {
    throw new ProviderError("internal", `the ${role} in the state directory can't be read`, {
      hint: "It was changed from outside or by a newer version; remove the session or template it belongs to.",
      cause: error,
    });
  }
}

/** Does something in a session's directory; what the disk says no with becomes a typed failure. */
export async function onDisk<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (isErrno(error, "ENOENT")) {
      throw new ProviderError("session-lost", "the session's directory went away", {
        hint: "Start the session again; its files are lost.",
        cause: error,
      });
    }
    if (isErrno(error, "ENOSPC", "EDQUOT")) {
      throw new ProviderError("no-space", "the disk of the host's state directory is full", {
        hint: "Make room on the host, then try again.",
        cause: error,
      });
    }
    throw error;
  }
}

export function isErrno(error: unknown, ...codes: string[]): error is NodeJS.ErrnoException {
  return error instanceof Error && "code" in error && codes.includes(String(error.code));
}

function temporaryName(path: string): string {
  return `${path}.${randomUUID()}.tmp`;
}
