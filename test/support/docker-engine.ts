import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { SessionIdentity } from "../../src/contract/sandbox.js";
import { resolveSpec, type ResolvedSpec, type SessionSpec } from "../../src/contract/spec.js";
import { createDockerProvider } from "../../src/providers/docker/docker-provider.js";
import type { OperationContext, Provider } from "../../src/providers/provider.js";

const execFileAsync = promisify(execFile);

export const baseImage = "holdfast-base:bookworm";
export const guestDirectory = fileURLToPath(new URL("../../guest/bin", import.meta.url));

/** Runs the real CLI beside the code under test. Throws with its stderr. */
export async function docker(...args: string[]): Promise<string> {
  const { stdout } = await execFileAsync("docker", args, { maxBuffer: 64 * 1024 * 1024 });
  return stdout.trim();
}

/** An installation of its own on the engine: what a suite makes is removed by its owner. */
export interface TestInstallation {
  readonly owner: string;
  readonly hostId: string;
  /** Another worker of the same installation. */
  provider(overrides?: { command?: string; environment?: Record<string, string> }): Provider;
  /** Everything with this owner's label, in any state. */
  containers(): Promise<string[]>;
  cleanUp(): Promise<void>;
}

export function createInstallation(): TestInstallation {
  const owner = `test,"${randomUUID()}"`;
  const filter = `label=dev.holdfast.owner=${encodeURIComponent(owner)}`;
  const list = async (...args: string[]): Promise<string[]> =>
    (await docker(...args, "--no-trunc", "-q", "--filter", filter)).split("\n").filter((id) => id !== "");
  return {
    owner,
    hostId: "test-host",
    provider: (overrides = {}) =>
      createDockerProvider({
        command: overrides.command ?? "docker",
        environment: overrides.environment ?? testEnvironment(),
        owner,
        hostId: "test-host",
        guestDirectory,
      }),
    containers: () => list("ps", "-a"),
    async cleanUp() {
      const containers = await list("ps", "-a");
      if (containers.length > 0) await docker("rm", "-f", "-v", ...containers);
      const images = await list("images");
      if (images.length > 0) await docker("rmi", "-f", ...new Set(images));
    },
  };
}

export function testEnvironment(): Record<string, string> {
  return Object.fromEntries(
    Object.entries(process.env).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}

export function newSession(): SessionIdentity {
  return { sessionId: `session, "${randomUUID()}"`, runId: randomUUID() };
}

export function dockerSpec(spec: Partial<SessionSpec> = {}): ResolvedSpec {
  return resolveSpec({ provider: "docker", template: { image: baseImage }, ...spec });
}

export function context(signal: AbortSignal = new AbortController().signal): OperationContext {
  return { signal, onProgress: () => undefined };
}
