import { setTimeout as sleep } from "node:timers/promises";
import type { Handle } from "../contract/sandbox.js";
import type { Files } from "../providers/channel.js";
import { hasCode } from "../providers/errors.js";
import { abortable } from "./abortable.js";
import type { ChannelLease, ChannelPool } from "./channel-pool.js";

/** Where one call gets its channels from. */
export interface ChannelSource {
  open(): Promise<ChannelLease>;
}

/** Between two looks for a free channel: soon at first, and no burden on the worker in the end. */
const waitMs = { first: 50, most: 1000 };

/** A channel as soon as there is one: a call is never refused because others run at the moment. */
export async function acquirePatiently(
  pool: ChannelPool,
  handle: Handle,
  signal: AbortSignal,
): Promise<ChannelLease> {
  for (let wait = waitMs.first; ; wait = Math.min(2 * wait, waitMs.most)) {
    try {
      return await pool.acquire(handle, { signal });
    } catch (error) {
      if (!hasCode(error, "busy")) throw error;
    }
    await abortable(sleep(wait), signal);
  }
}

/** File primitives that take the sandbox's channel for one operation each, so that none is held for long. */
export function createLeasedFiles(source: ChannelSource): Files {
  async function use<T>(operation: (files: Files) => Promise<T>): Promise<T> {
    const lease = await source.open();
    try {
      return await operation(lease.channel.files);
    } finally {
      lease.release();
    }
  }
  return {
    read: (path, range) => use((files) => files.read(path, range)),
    write: (path, content, options) => use((files) => files.write(path, content, options)),
    recorded: (callId, requestHash) => use((files) => files.recorded(callId, requestHash)),
    stat: (path) => use((files) => files.stat(path)),
    list: (path, options) => use((files) => files.list(path, options)),
    remove: (path, options) => use((files) => files.remove(path, options)),
  };
}
