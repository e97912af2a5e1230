import { randomBytes } from "node:crypto";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { hostIdFile, readHostId } from "../../host-id.js";
import type { Check, CheckContext } from "./check.js";

export async function checkHost({ config }: CheckContext): Promise<Check[]> {
  return [checkNode(), await checkStateDir(config.stateDir), await checkHostId(config)];
}

function checkNode(): Check {
  const { node } = process.versions;
  const [major = 0, minor = 0] = node.split(".").map(Number);
  return major > 20 || (major === 20 && minor >= 18)
    ? { name: "Node", status: "ok", detail: node }
    : { name: "Node", status: "problem", detail: `${node} is too old`, hint: "Install Node 20.18 or newer." };
}

async function checkStateDir(stateDir: string): Promise<Check> {
  const probe = join(stateDir, `.doctor-${randomBytes(6).toString("hex")}`);
  try {
    await mkdir(stateDir, { recursive: true, mode: 0o700 });
    await writeFile(probe, "");
    return { name: "state directory", status: "ok", detail: stateDir };
  } catch (error) {
    return {
      name: "state directory",
      status: "problem",
      detail: `${stateDir} can't be written: ${(error as Error).message}`,
      hint: "Make it writable, or name another by HOLDFAST_STATE_DIR.",
    };
  } finally {
    await rm(probe, { force: true }).catch(() => undefined);
  }
}

/** Only looks: the first worker makes the id. */
async function checkHostId({ hostId, stateDir }: CheckContext["config"]): Promise<Check> {
  const name = "host id";
  if (hostId !== undefined) return { name, status: "ok", detail: `${hostId} (HOLDFAST_HOST_ID)` };
  try {
    const kept = await readHostId(hostIdFile(stateDir));
    return { name, status: "ok", detail: kept ?? "none yet: the first worker makes one and keeps it" };
  } catch (error) {
    return { name, status: "problem", detail: (error as Error).message, hint: "Set HOLDFAST_HOST_ID." };
  }
}
