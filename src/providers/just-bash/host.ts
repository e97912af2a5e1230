import type { CallRunner } from "./call-runner.js";
import type { Layout } from "./layout.js";
import type { ThreadPool } from "./thread-pool.js";

/** What the verbs of this provider share: where they are, on whose behalf, and the threads they run on. */
export interface Host {
  readonly hostId: string;
  readonly owner: string;
  readonly layout: Layout;
  readonly pool: ThreadPool;
  readonly runner: CallRunner;
}
