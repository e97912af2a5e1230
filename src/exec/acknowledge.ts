import type { CallDispatch } from "../contract/activities.js";
import { bounded } from "./abortable.js";
import type { ChannelPool } from "./channel-pool.js";

/**
 * Tells the sandbox which calls' output may go, on a channel that is open already: it is never worth waiting for
 * one. Returns what the sandbox has taken in for sure. Never throws: what is not returned is sent again.
 */
export async function acknowledge(
  pool: ChannelPool,
  { handle, acknowledged }: Pick<CallDispatch, "handle" | "acknowledged">,
  { timeoutMs, signal }: { timeoutMs: number; signal: AbortSignal },
): Promise<readonly string[]> {
  if (acknowledged.length === 0) return [];
  const lease = pool.peek(handle);
  if (lease === undefined) return [];
  try {
    await bounded({ what: "the sandbox", timeoutMs, signal }, () => lease.channel.acknowledge(acknowledged));
    return acknowledged;
  } catch {
    // Only room in the spool is at stake, and the same ids come again with a later call.
    return [];
  } finally {
    lease.release();
  }
}
