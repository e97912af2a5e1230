import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { listLabelled } from "./docker-engine.js";
import type { Surroundings } from "./surroundings.js";

/** Everything of the demo's sessions that an engine still has; empty is what was promised. */
export async function leftovers(surroundings: Surroundings, provider: string): Promise<string[]> {
  const left =
    provider === "docker" ? await dockerLeftovers(surroundings) : await directoryLeftovers(surroundings);
  const open = await surroundings.client.sessions.list({ open: true });
  return [...left, ...open.map((session) => `open session ${session.sessionId}`)];
}

async function directoryLeftovers({ stateDir }: Surroundings): Promise<string[]> {
  const left: string[] = [];
  for (const folder of ["sessions", "staging", "trash"]) {
    const entries = await readdir(join(stateDir, "just-bash", folder));
    left.push(...entries.map((entry) => `just-bash/${folder}/${entry}`));
  }
  return left;
}

/** Templates stay for the next session of the installation; they go when the demo ends. */
async function dockerLeftovers({ config }: Surroundings): Promise<string[]> {
  const labelled = await listLabelled(config);
  return labelled.filter(({ kind }) => kind !== "image").map(({ kind, id }) => `${kind} ${id}`);
}

export function aliveAmong(pids: readonly number[]): number[] {
  return pids.filter((pid) => {
    try {
      return process.kill(pid, 0);
    } catch {
      // ESRCH: it is gone. They are our own children, so nothing else can be thrown.
      return false;
    }
  });
}
