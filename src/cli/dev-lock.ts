import { createHash, randomUUID } from "node:crypto";
import { link, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { HoldfastError } from "../client/index.js";

/**
 * One `holdfast dev` for a state directory: two servers on one database file ruin it. The lock of a process that
 * was killed is recognised by its pid and the time it started, and replaced.
 */
export async function holdDevLock(stateDir: string): Promise<{ release(): Promise<void> }> {
  const file = join(stateDir, "dev.pid");
  await mkdir(stateDir, { recursive: true, mode: 0o700 });
  const name = `${process.pid} ${(await startTimeOf(process.pid)) ?? unknownTime} ${randomUUID()}\n`;
  const holder = await take(file, name);
  if (holder === undefined) return { release: () => removeNamed(file, name) };
  throw new HoldfastError("conflict", `holdfast dev runs on ${stateDir} already (process ${holder}).`, {
    hint: "Use it, stop it, or give this one its own --state-dir.",
  });
}

/** Puts the name in place, whole and only where there is none. Otherwise: the pid of the process that holds it. */
async function take(file: string, name: string): Promise<number | undefined> {
  const draft = `${file}.${randomUUID()}`;
  await writeFile(draft, name, { flag: "wx" });
  try {
    for (;;) {
      try {
        await link(draft, file);
        return undefined;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
      }
      const found = await readIfThere(file);
      const holder = Number(found?.split(/\s/)[0]);
      if (found !== undefined && (await isAlive(found))) return holder;
      if (found !== undefined) await removeStale(file, { found, name });
    }
  } finally {
    await rm(draft, { force: true });
  }
}

/**
 * Several may find the same dead name, and one of them may have put its own in place before the next removes what
 * it has read. So only who holds the right to remove this very name does; a dead one's right is taken like the lock.
 */
async function removeStale(file: string, { found, name }: { found: string; name: string }): Promise<void> {
  const right = `${file}.${createHash("sha256").update(found).digest("hex").slice(0, 16)}`;
  if ((await take(right, name)) === undefined) {
    await removeNamed(file, found);
    await removeNamed(right, name);
  } else {
    // Its holder is at it, which takes milliseconds.
    await sleep(5);
  }
}

async function removeNamed(file: string, name: string): Promise<void> {
  if ((await readIfThere(file)) === name) await rm(file, { force: true });
}

async function readIfThere(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    // ESRCH: a process that ended while its entry was read.
    if (!["ENOENT", "ESRCH"].includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
    return undefined;
  }
}

/** Where there is no /proc the pid alone has to do. */
const unknownTime = "-";

async function isAlive(name: string): Promise<boolean> {
  const [pid, startTime = unknownTime] = name.trim().split(/\s/);
  if (!/^[1-9]\d*$/.test(pid ?? "")) return false;
  try {
    process.kill(Number(pid), 0);
  } catch (error) {
    // EPERM: it is there, and another user's.
    if ((error as NodeJS.ErrnoException).code !== "EPERM") return false;
  }
  return startTime === unknownTime || (await startTimeOf(Number(pid))) === startTime;
}

/** Field 22 of /proc/PID/stat, counted after the command's closing bracket: its name may hold anything. */
async function startTimeOf(pid: number): Promise<string | undefined> {
  const stat = await readIfThere(`/proc/${pid}/stat`);
  const fields = stat?.slice(stat.lastIndexOf(")") + 2).split(" ");
  // A zombie has ended: it only waits for its parent to notice.
  return fields?.[0] === "Z" ? undefined : fields?.[19];
}
