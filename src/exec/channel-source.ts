import type { Files } from "../providers/channel.js";
import type { ChannelLease } from "./channel-pool.js";

/** Where one call gets its channels from; the first one carries acknowledgements. */
export interface ChannelSource {
  open(): Promise<ChannelLease>;
}

export function createChannelSource(
  open: () => Promise<ChannelLease>,
  acknowledged: readonly string[],
): ChannelSource {
  let told = acknowledged.length === 0;
  return {
    async open() {
      const lease = await open();
      if (!told) {
        told = true;
        lease.channel.acknowledge(acknowledged).catch(() => {
          // They are acknowledged again with a later call; until then the spool keeps them.
        });
      }
      return lease;
    },
  };
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
