import { randomBytes } from "node:crypto";
import { link, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { HoldfastError } from "./client/holdfast-error.js";
import type { HoldfastConfig } from "./config.js";

/**
 * The host's id: configured, or made once and kept in the state directory. It names queues and owns sandboxes,
 * so it must be the same after every restart.
 */
export async function ensureHostId(config: Pick<HoldfastConfig, "hostId" | "stateDir">): Promise<string> {
  if (config.hostId !== undefined) return config.hostId;
  const file = hostIdFile(config.stateDir);
  return (await readHostId(file)) ?? (await makeHostId(file));
}

/** The kept id, if there is one by now; makes none. */
export async function readHostId(file: string): Promise<string | undefined> {
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw unusable(file, error);
  }
  const id = text.trim();
  if (/^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$/.test(id)) return id;
  throw unusable(file, "it holds no host id");
}

export const hostIdFile = (stateDir: string): string => join(stateDir, "host-id");

/** Written whole beside its place, then linked: of two first starts one wins, and both use its id. */
async function makeHostId(file: string): Promise<string> {
  const name = hostname()
    .replace(/[^A-Za-z0-9-]/g, "-")
    .replace(/^-+/, "")
    .slice(0, 40);
  const id = `${name || "host"}-${randomBytes(4).toString("hex")}`;
  const draft = `${file}.${randomBytes(6).toString("hex")}`;
  try {
    await mkdir(join(file, ".."), { recursive: true, mode: 0o700 });
    await writeFile(draft, `${id}\n`, { flag: "wx" });
    await link(draft, file);
    return id;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw unusable(file, error);
    const winner = await readHostId(file);
    if (winner === undefined) throw unusable(file, error);
    return winner;
  } finally {
    await rm(draft, { force: true });
  }
}

function unusable(file: string, cause: unknown): HoldfastError {
  return new HoldfastError("unavailable", `The host id in ${file} can't be used: ${String(cause)}`, {
    field: "HOLDFAST_STATE_DIR",
    hint: "Make the state directory writable, or name the host by HOLDFAST_HOST_ID.",
    cause,
  });
}
