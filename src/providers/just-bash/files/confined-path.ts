import type { Stats } from "node:fs";
import { constants } from "node:fs";
import { lstat, mkdir, open, readlink, type FileHandle } from "node:fs/promises";
import { join } from "node:path";
import { ProviderError } from "../../errors.js";
import { isErrno } from "../durable-file.js";

const maxLinks = 40;
/** A name that keeps turning from directory to link and back while it is looked at is an attack, not bad luck. */
const maxRaces = 20;
const directoryFlags = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;

export interface Place {
  /** Prefix that reaches into the parent directory, whatever is renamed meanwhile. */
  readonly parent: string;
  /** The last name, or `.` when the path ended at the directory itself. */
  readonly name: string;
  /** What is there now, links not followed; undefined when nothing is. */
  readonly stats: Stats | undefined;
  /** The path in the sandbox, all links resolved. */
  readonly path: string;
}

export interface WalkOptions {
  /** The session's directory on the host: the sandbox's `/`. */
  readonly root: string;
  /** Absolute paths in the sandbox that may be touched. */
  readonly allowed: readonly string[];
  readonly followFinal: boolean;
  readonly makeParents: boolean;
  /** Ends inside a final directory, held open, instead of beside it. */
  readonly enterFinal?: boolean;
}

interface Step {
  readonly handle: FileHandle;
  readonly name: string;
  readonly hostPath: string;
}

/**
 * Walks a path of the sandbox one name at a time, each beneath the open descriptor of the one before, so that
 * nothing that is renamed or replaced by a link meanwhile can lead outside. Links are followed as inside the
 * sandbox: an absolute target starts at the session's directory, `..` stops there.
 */
export async function atPlace<T>(
  path: string,
  options: WalkOptions,
  use: (place: Place) => Promise<T>,
): Promise<T> {
  checkPath(path);
  const steps: Step[] = [];
  try {
    await enter(steps, options.root, "");
    return await use(await walk(path, options, steps));
  } finally {
    for (const step of steps) await step.handle.close();
  }
}

async function walk(path: string, options: WalkOptions, steps: Step[]): Promise<Place> {
  const pending = path.split("/");
  let links = 0;
  let races = 0;
  const pathOf = (name?: string): string =>
    "/" + [...steps.slice(1).map((step) => step.name), name ?? []].flat().join("/");
  for (;;) {
    const name = pending.shift();
    const top = steps.at(-1);
    if (top === undefined) throw new ProviderError("internal", "the session's directory is not open");
    if (name === undefined) {
      const stats = await top.handle.stat();
      return place(".", stats);
    }
    if (name === "" || name === ".") continue;
    if (name === "..") {
      if (steps.length > 1) await steps.pop()?.handle.close();
      continue;
    }
    const isLast = pending.every((rest) => rest === "" || rest === ".");
    const stats = await lstatIn(top, name);
    if (stats === undefined) {
      if (isLast) return place(name, undefined);
      if (!options.makeParents) throw missing(path);
      checkAllowed(pathOf(name), path, options.allowed);
      await makeDirectory(join(prefix(top), name));
      pending.unshift(name);
    } else if (stats.isSymbolicLink()) {
      if (isLast && !options.followFinal) return place(name, stats);
      if (++links > maxLinks) throw new ProviderError("denied", `${JSON.stringify(path)}: too many links`);
      const target = await readlink(join(prefix(top), name));
      if (target.startsWith("/")) for (const step of steps.splice(1)) await step.handle.close();
      pending.unshift(...target.split("/"));
    } else if (isLast && !(options.enterFinal === true && stats.isDirectory())) {
      return place(name, stats);
    } else if (!stats.isDirectory()) {
      throw new ProviderError("not-found", `a part of ${JSON.stringify(path)} is not a directory`);
    } else {
      try {
        await enter(steps, join(prefix(top), name), name);
      } catch (error) {
        // It was replaced since it was looked at: look again.
        if (!isErrno(error, "ELOOP", "ENOTDIR", "ENOENT") || ++races > maxRaces) throw error;
        pending.unshift(name);
      }
    }
  }

  function place(name: string, stats: Stats | undefined): Place {
    const top = steps.at(-1);
    const resolved = name === "." ? pathOf() : pathOf(name);
    checkAllowed(resolved, path, options.allowed);
    return { parent: top === undefined ? "" : prefix(top), name, stats, path: resolved };
  }
}

async function enter(steps: Step[], at: string, name: string): Promise<void> {
  const handle = await open(at, directoryFlags);
  const above = steps.at(-1);
  steps.push({ handle, name, hostPath: above === undefined ? at : join(above.hostPath, name) });
}

/** Linux reaches beneath a descriptor through /proc; elsewhere the path has to do, checked name by name. */
function prefix(step: Step): string {
  return process.platform === "linux" ? `/proc/self/fd/${step.handle.fd}` : step.hostPath;
}

async function lstatIn(step: Step, name: string): Promise<Stats | undefined> {
  try {
    return await lstat(join(prefix(step), name));
  } catch (error) {
    if (isErrno(error, "ENOENT")) return undefined;
    throw error;
  }
}

async function makeDirectory(at: string): Promise<void> {
  try {
    await mkdir(at, { mode: 0o755 });
  } catch (error) {
    // Somebody else made it: what it is, is looked at next.
    if (!isErrno(error, "EEXIST")) throw error;
  }
}

function checkPath(path: string): void {
  if (path.startsWith("/") && !path.includes("\0") && path.length <= 4096) return;
  throw new ProviderError(
    "invalid-request",
    `${JSON.stringify(path.slice(0, 80))} is not an absolute path without NUL of at most 4096 characters`,
    { field: "input.path" },
  );
}

function checkAllowed(resolved: string, asked: string, allowed: readonly string[]): void {
  if (allowed.some((root) => root === "/" || resolved === root || resolved.startsWith(`${root}/`))) return;
  throw new ProviderError(
    "denied",
    `${JSON.stringify(asked)} leads to ${JSON.stringify(resolved)}, outside of ${allowed.join(", ")}`,
    { field: "input.path", hint: `Use a path beneath ${allowed[0] ?? "the workspace"}.` },
  );
}

function missing(path: string): ProviderError {
  return new ProviderError("not-found", `${JSON.stringify(path)} does not exist`);
}
