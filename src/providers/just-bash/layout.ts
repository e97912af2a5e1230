import { createHash } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { SessionIdentity } from "../../contract/sandbox.js";
import { contentKey } from "../template-key.js";

/**
 * Where things are in the state directory. A template or session is one directory, made under `staging` and
 * renamed into its place, and renamed to `trash` before it is deleted: it is there as a whole or not at all.
 */
export interface Layout {
  readonly templates: string;
  readonly sessions: string;
  readonly staging: string;
  readonly trash: string;
  /** Which generations of a session were removed: a start that lands later sees it and undoes itself. */
  readonly removals: string;
}

export async function createLayout(stateDir: string): Promise<Layout> {
  const base = join(stateDir, "just-bash");
  const layout: Layout = {
    templates: join(base, "templates"),
    sessions: join(base, "sessions"),
    staging: join(base, "staging"),
    trash: join(base, "trash"),
    removals: join(base, "removals"),
  };
  for (const directory of Object.values(layout) as string[]) {
    // Sessions hold what users wrote: nobody else on the host has business there.
    await mkdir(directory, { recursive: true, mode: 0o700 });
  }
  return layout;
}

/** Name of a session's directory. Known before it is made, so a repeated start finds its own. */
export function sessionName(owner: string, session: SessionIdentity, generation: number): string {
  return contentKey({ owner, sessionId: session.sessionId, runId: session.runId, generation });
}

export function removalName(owner: string, session: SessionIdentity): string {
  return contentKey({ owner, sessionId: session.sessionId, runId: session.runId });
}

/** A call's id may hold any character; its directory's name may not. */
export function callName(callId: string): string {
  return createHash("sha256").update(callId).digest("hex");
}

export const sessionPaths = (directory: string) => ({
  root: join(directory, "root"),
  calls: join(directory, "calls"),
  writes: join(directory, "writes"),
  removed: join(directory, "removed"),
  meta: join(directory, "meta.json"),
});
