import { once } from "node:events";
import { PassThrough } from "node:stream";
import type { ArtifactStore } from "../artifacts/artifact-store.js";
import type { ArtifactRef } from "../contract/refs.js";

/** One stream on its way into the artifact store, while it is produced. */
export interface Spill {
  /** Waits while the store is slower than the command. Never throws. */
  add(bytes: Uint8Array): Promise<void>;
  /** The whole stream's reference; undefined when the store could not take it. */
  end(): Promise<ArtifactRef | undefined>;
  abandon(): Promise<void>;
}

export function createSpill(artifacts: ArtifactStore): Spill {
  const pipe = new PassThrough({ highWaterMark: 1024 * 1024 });
  // Each failure arrives through the put as well.
  pipe.on("error", () => undefined);
  const stored = artifacts.put(pipe).catch(() => {
    // A full or broken store costs the reference, not the answer: head, tail and counts are still true.
    pipe.destroy();
    return undefined;
  });

  return {
    async add(bytes) {
      if (pipe.destroyed || pipe.write(bytes)) return;
      const stop = new AbortController();
      // Whichever comes first: room, or the put has failed and there will never be any.
      await Promise.race([once(pipe, "drain", { signal: stop.signal }).catch(() => undefined), stored]);
      stop.abort();
    },
    end() {
      pipe.end();
      return stored;
    },
    async abandon() {
      pipe.destroy(new Error("the command is no longer followed"));
      await stored;
    },
  };
}
