import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { runTool } from "../doctor/run-tool.js";
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

async function dockerLeftovers({ config }: Surroundings): Promise<string[]> {
  const filter = ["--filter", `label=dev.holdfast.owner=${config.owner ?? ""}`, "--quiet"];
  const left: string[] = [];
  for (const [kind, list] of [
    ["container", ["ps", "--all"]],
    ["volume", ["volume", "ls"]],
    ["network", ["network", "ls"]],
  ] as const) {
    const listed = await runTool(config.dockerCli, [...list, ...filter], config.environment);
    if (!listed.ok) left.push(`${kind}s can't be listed: ${listed.reason}`);
    left.push(
      ...listed.stdout
        .split("\n")
        .filter(Boolean)
        .map((id) => `${kind} ${id}`),
    );
  }
  return left;
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
