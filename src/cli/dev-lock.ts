import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { HoldfastError } from "../client/index.js";

/**
 * One `holdfast dev` for a state directory: two servers on one database file ruin it. The lock of a process that
 * was killed is recognised by its pid, and replaced.
 */
export async function holdDevLock(stateDir: string): Promise<{ release(): Promise<void> }> {
  const file = join(stateDir, "dev.pid");
  await mkdir(stateDir, { recursive: true, mode: 0o700 });
  for (;;) {
    try {
      await writeFile(file, `${process.pid}\n`, { flag: "wx" });
      return { release: () => rm(file, { force: true }) };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
    const holder = Number(await readFile(file, "utf8").catch(() => ""));
    if (Number.isInteger(holder) && holder > 0 && isAlive(holder)) {
      throw new HoldfastError("conflict", `holdfast dev runs on ${stateDir} already (process ${holder}).`, {
        hint: "Use it, stop it, or give this one its own --state-dir.",
      });
    }
    await rm(file, { force: true });
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    // EPERM: it is there, and another user's.
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
