import type { CreatesUnderWay } from "./creates-under-way.js";
import type { DockerCli } from "./docker-cli.js";
import type { GuestBinary } from "./guest-binary.js";

/** What each verb of the provider works with. */
export interface DockerDeps {
  readonly cli: DockerCli;
  /** Installation that owns what we make; another owner's resources are never touched. */
  readonly owner: string;
  readonly hostId: string;
  /** The guest for the engine's architecture. Throws `unavailable` when it wasn't built. */
  guest(): Promise<GuestBinary>;
  readonly creates: CreatesUnderWay;
}

/**
 * How long the engine may take. Reading is instant even on a busy machine; creating and removing wait for disks
 * and for the kernel to let go of mounts, so these are limits against a stuck engine, not expectations.
 */
export const engineTimeouts = {
  readMs: 30_000,
  createMs: 120_000,
  startMs: 60_000,
  removeMs: 60_000,
  networkMs: 30_000,
  pullMs: 30 * 60_000,
  commitMs: 10 * 60_000,
  setupMs: 60 * 60_000,
} as const;
