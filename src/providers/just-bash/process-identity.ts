import { readFile } from "node:fs/promises";
import { z } from "zod";
import { isErrno } from "./durable-file.js";

/** Names one process for good: a pid alone is used again. */
export const processIdentitySchema = z.object({
  pid: z.number().int().positive(),
  /** Clock ticks since boot, from /proc; empty where there is no /proc. */
  startTime: z.string(),
  bootId: z.string(),
});
export type ProcessIdentity = z.infer<typeof processIdentitySchema>;

export async function ownIdentity(): Promise<ProcessIdentity> {
  return {
    pid: process.pid,
    startTime: (await startTimeOf(process.pid)) ?? "",
    bootId: await bootId(),
  };
}

/** False only when it is certain that the process is gone: a doubtful one is never declared dead. */
export async function isAlive(identity: ProcessIdentity): Promise<boolean> {
  if (identity.bootId !== (await bootId())) return false;
  try {
    process.kill(identity.pid, 0);
  } catch (error) {
    // EPERM: it lives, as another user.
    if (isErrno(error, "ESRCH")) return false;
  }
  if (identity.startTime === "") return true;
  const startTime = await startTimeOf(identity.pid);
  return startTime === identity.startTime;
}

/** Field 22 of /proc/<pid>/stat, counted after the command's closing bracket: its name may hold anything. */
async function startTimeOf(pid: number): Promise<string | undefined> {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    // A zombie has ended: it only waits for its parent to notice.
    return fields[0] === "Z" ? undefined : fields[19];
  } catch (error) {
    if (isErrno(error, "ENOENT", "ESRCH")) return undefined;
    throw error;
  }
}

async function bootId(): Promise<string> {
  try {
    return (await readFile("/proc/sys/kernel/random/boot_id", "utf8")).trim();
  } catch (error) {
    // No such file outside Linux: the pid alone has to do there.
    if (isErrno(error, "ENOENT")) return "";
    throw error;
  }
}
