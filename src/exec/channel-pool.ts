import type { Handle } from "../contract/sandbox.js";
import type { Channel } from "../providers/channel.js";
import { ProviderError } from "../providers/errors.js";
import type { OperationContext } from "../providers/provider.js";
import { abortable, bounded } from "./abortable.js";

/** The use of a channel; until it is released the channel isn't idle. */
export interface ChannelLease {
  readonly channel: Channel;
  /** Idempotent. */
  release(): void;
  /** Closes the channel because it does not answer; whoever else uses it gets another one. */
  discard(): void;
}

/** The worker's channels: one for each sandbox in use. */
export interface ChannelPool {
  /** The sandbox's channel, opened when there is none. `busy` when all allowed channels are in use. */
  acquire(handle: Handle, options: { signal: AbortSignal }): Promise<ChannelLease>;
  /** The sandbox's channel if it is open by now; never waits. */
  peek(handle: Handle): ChannelLease | undefined;
  /** Opens the channel in the background, for the next use. */
  warm(handle: Handle): void;
  /** Closes all channels and waits for it; nothing can be acquired afterwards. */
  close(): Promise<void>;
}

export interface ChannelPoolOptions {
  /** This worker's host: sandboxes of others can't be reached from here. */
  readonly hostId: string;
  connect(handle: Handle, context: OperationContext): Promise<Channel>;
  /** A docker client costs 25 MB, so the number of open channels is limited. */
  readonly maxChannels: number;
  /** An unused channel is given up after so long. Default 30,000. */
  readonly idleMs?: number;
  /** Default 30,000: a microVM under load takes seconds, and one that hangs must not hold others for ever. */
  readonly connectTimeoutMs?: number;
}

interface Entry {
  readonly key: string;
  readonly opening: Promise<Channel>;
  channel?: Channel;
  leases: number;
  idleSinceMs: number;
  idleTimer?: NodeJS.Timeout;
}

export function createChannelPool(options: ChannelPoolOptions): ChannelPool {
  const { hostId, maxChannels, idleMs = 30_000, connectTimeoutMs = 30_000 } = options;
  const entries = new Map<string, Entry>();
  const closing = new Set<Promise<void>>();
  const shutdown = new AbortController();

  function usable(handle: Handle): Entry | undefined {
    const entry = entries.get(sandboxKey(handle));
    if (entry?.channel?.closed !== true) return entry;
    forget(entry);
    return undefined;
  }

  function open(handle: Handle): Entry {
    makeRoom();
    const opening = bounded(
      { what: `the sandbox ${handle.sandboxId}`, timeoutMs: connectTimeoutMs, signal: shutdown.signal },
      async (signal) => {
        const channel = await options.connect(handle, { signal, onProgress: () => undefined });
        // Too late: nobody waits any more, so nobody would close it.
        if (signal.aborted) close(channel);
        return channel;
      },
    );
    const entry: Entry = { key: sandboxKey(handle), opening, leases: 0, idleSinceMs: Date.now() };
    entries.set(entry.key, entry);
    opening.then(
      (channel) => {
        entry.channel = channel;
        // Whoever asked may have gone meanwhile.
        if (entry.leases === 0) startIdling(entry);
      },
      () => {
        // The waiters of `opening` tell the error; the next use tries again.
        forget(entry);
      },
    );
    return entry;
  }

  function makeRoom(): void {
    for (const entry of entries.values()) if (entry.channel?.closed === true) forget(entry);
    if (entries.size < maxChannels) return;
    const idle = [...entries.values()].filter((entry) => entry.leases === 0 && entry.channel !== undefined);
    const longestIdle = idle.sort((a, b) => a.idleSinceMs - b.idleSinceMs)[0];
    if (longestIdle === undefined) {
      throw new ProviderError("busy", `all ${maxChannels} channels of this worker are in use`, {
        hint: "Try again when a running call has ended, add workers, or raise the worker's number of channels.",
      });
    }
    forget(longestIdle);
  }

  function forget(entry: Entry): void {
    clearTimeout(entry.idleTimer);
    if (entries.get(entry.key) === entry) entries.delete(entry.key);
    if (entry.channel !== undefined) close(entry.channel);
  }

  function close(channel: Channel): void {
    const closed = channel.close().catch(() => {
      // A channel that can't be closed is broken already; its sandbox doesn't depend on it.
    });
    closing.add(closed);
    void closed.finally(() => closing.delete(closed));
  }

  function startIdling(entry: Entry): void {
    entry.idleSinceMs = Date.now();
    entry.idleTimer = setTimeout(() => {
      forget(entry);
    }, idleMs);
    entry.idleTimer.unref();
  }

  function use(entry: Entry): () => void {
    entry.leases += 1;
    clearTimeout(entry.idleTimer);
    let released = false;
    return () => {
      if (released) return;
      released = true;
      entry.leases -= 1;
      if (entry.leases === 0 && entries.get(entry.key) === entry && entry.channel !== undefined) {
        startIdling(entry);
      }
    };
  }

  function leaseOf(entry: Entry, channel: Channel, release: () => void): ChannelLease {
    return {
      channel,
      release,
      discard: () => {
        release();
        forget(entry);
      },
    };
  }

  return {
    async acquire(handle, { signal }) {
      signal.throwIfAborted();
      if (shutdown.signal.aborted) throw new ProviderError("unavailable", "this worker is shutting down");
      if (handle.hostId !== hostId) {
        throw new ProviderError("unreachable", `the sandbox is on host ${handle.hostId}, this is ${hostId}`);
      }
      const entry = usable(handle) ?? open(handle);
      const release = use(entry);
      try {
        return leaseOf(entry, await abortable(entry.opening, signal), release);
      } catch (error) {
        release();
        throw error;
      }
    },
    peek(handle) {
      const entry = usable(handle);
      if (entry?.channel === undefined) return undefined;
      return leaseOf(entry, entry.channel, use(entry));
    },
    warm(handle) {
      if (shutdown.signal.aborted || handle.hostId !== hostId || usable(handle) !== undefined) return;
      try {
        open(handle);
      } catch {
        // No room: a warm channel is a favour, and the call itself will say `busy`.
      }
    },
    async close() {
      shutdown.abort(new ProviderError("unavailable", "this worker is shutting down"));
      for (const entry of [...entries.values()]) forget(entry);
      await Promise.all(closing);
    },
  };
}

/** Names one generation of a sandbox. A handle's `data` may change over a resume; sandbox and generation don't. */
export function sandboxKey(handle: Handle): string {
  return JSON.stringify([handle.provider, handle.sandboxId, handle.generation.number, handle.generation.key]);
}
