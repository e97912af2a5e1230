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
