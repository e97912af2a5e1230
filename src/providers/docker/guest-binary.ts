import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { ProviderError } from "../errors.js";
import { engineTimeouts } from "./engine-timeouts.js";
import type { DockerCli } from "./docker-cli.js";

export interface GuestBinary {
  readonly path: string;
  readonly bytes: Buffer;
  readonly sha256: string;
}

/** Reads the guest for the engine's architecture once, from the directory that holds the built binaries. */
export function createGuestSource(cli: DockerCli, directory: string): () => Promise<GuestBinary> {
  let found: Promise<GuestBinary> | undefined;
  return () => {
    found ??= findGuest(cli, directory).catch((error: unknown) => {
      // Not kept: the engine may come up, the binary may be built, without a new worker.
      found = undefined;
      throw error;
    });
    return found;
  };
}

async function findGuest(cli: DockerCli, directory: string): Promise<GuestBinary> {
  const server = await cli.require({
    args: ["version", "--format", "{{.Server.Os}}/{{.Server.Arch}}"],
    timeoutMs: engineTimeouts.readMs,
  });
  const [os = "", arch = ""] = server.trim().split("/");
  if (os !== "linux" || !/^[a-z0-9]+$/.test(arch)) {
    throw new ProviderError(
      "unsupported",
      `the Docker engine runs ${os}/${arch} containers, not Linux ones`,
      {
        hint: "Use an engine that runs Linux containers.",
      },
    );
  }
  const path = join(directory, `holdfast-guest-linux-${arch}`);
  try {
    const bytes = await readFile(path);
    return { path, bytes, sha256: createHash("sha256").update(bytes).digest("hex") };
  } catch (cause) {
    throw new ProviderError("unavailable", `the guest for linux/${arch} is missing: ${path} can't be read`, {
      hint: "Run `npm run build:guest` (needs Go 1.24 or newer), or install the package again.",
      cause,
    });
  }
}
