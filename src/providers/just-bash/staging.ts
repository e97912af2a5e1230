import { randomUUID } from "node:crypto";
import { mkdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { createJson, isErrno, replaceJson } from "./durable-file.js";
import type { Host } from "./host.js";

/**
 * Makes a directory somewhere else and moves it to its place as a whole. False when the place was taken by
 * then: the loser of a race uses the winner's. Whatever fails, nothing of it stays.
 */
export async function place(
  host: Host,
  target: string,
  meta: Record<string, unknown>,
  fill: (directory: string) => Promise<void>,
): Promise<boolean> {
  const directory = join(host.layout.staging, randomUUID());
  await mkdir(directory, { mode: 0o700 });
  try {
    // A sweep finds what a dying process left here, and whose it was.
    const staging = { version: 1, role: "staging", owner: host.owner, createdAtMs: Date.now() };
    await createJson(join(directory, "meta.json"), staging);
    await fill(directory);
    await replaceJson(join(directory, "meta.json"), meta);
    await rename(directory, target);
    return true;
  } catch (error) {
    await rm(directory, { recursive: true, force: true });
    if (isErrno(error, "ENOTEMPTY", "EEXIST")) return false;
    throw error;
  }
}

/** Out of its place first, in one step; then deleted, which may take long and die half-way. */
export async function discard(host: Host, path: string): Promise<void> {
  const grave = join(host.layout.trash, randomUUID());
  try {
    await rename(path, grave);
  } catch (error) {
    // Somebody else was faster.
    if (isErrno(error, "ENOENT")) return;
    throw error;
  }
  await rm(grave, { recursive: true, force: true, maxRetries: 3 });
}
