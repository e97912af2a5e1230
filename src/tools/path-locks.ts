/** Lets changes of one file follow one another. */
export interface PathLocks {
  /** Waits until nobody holds the path, then works while nobody else does. */
  hold<T>(key: string, work: () => Promise<T>): Promise<T>;
}

/**
 * An edit reads, changes and writes: two at once would lose one of them, and agents do send several at once.
 * Holds within one worker, which is where the calls of a sandbox run.
 */
export function createPathLocks(): PathLocks {
  const tails = new Map<string, Promise<unknown>>();
  return {
    async hold(key, work) {
      const before = tails.get(key) ?? Promise.resolve();
      const done = before.then(work);
      // Who waits for its turn must not fail because of who had it before.
      const tail = done.catch(() => undefined);
      tails.set(key, tail);
      try {
        return await done;
      } finally {
        if (tails.get(key) === tail) tails.delete(key);
      }
    },
  };
}
