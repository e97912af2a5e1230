import { setTimeout as sleep } from "node:timers/promises";
import type { CallEnd, OutputStream, RunRequest } from "../providers/channel.js";
import { hasCode, ProviderError } from "../providers/errors.js";
import { abortable, bounded } from "./abortable.js";
import type { ChannelLease } from "./channel-pool.js";

/** Quick at first: most interruptions are one broken pipe. Slow in the end: a stopped engine takes its time. */
const backoffMs = { first: 50, most: 5000 };

/** Gives the sandbox time for its grace of 2 s, its clean-up and a slow machine. */
const defaultOverdueMs = 30_000;

export interface AttachOptions {
  openChannel(): Promise<ChannelLease>;
  readonly request: RunRequest;
  /** Ends the following, never the command; what it throws then is the signal's reason. */
  readonly signal: AbortSignal;
  onClaimed(): void;
  onOutput(stream: OutputStream, bytes: Uint8Array): Promise<void>;
  /** How long after the call's own timeout a channel that says nothing counts as stuck. Default 30,000. */
  readonly overdueMs?: number;
}

type Delivered = Record<OutputStream, number>;

/**
 * Starts the call, or attaches to it, and follows it to its end through any number of interruptions: each
 * time it continues where the output broke off. A stream that just ends is an interruption, never an end.
 * Throws what the claim is refused with, `session-lost`, or `unavailable` for a call that is long overdue.
 */
export async function runToEnd(options: AttachOptions): Promise<CallEnd> {
  const { request, signal, overdueMs = defaultOverdueMs } = options;
  const delivered: Delivered = { stdout: 0, stderr: 0 };
  // Overdue once gives a stuck channel up and asks on a fresh one; overdue twice gives up here.
  const giveUpAtMs = performance.now() + request.timeoutMs + 2 * overdueMs;
  let waitMs = backoffMs.first;
  for (;;) {
    const before = delivered.stdout + delivered.stderr;
    try {
      return await attachOnce(options, delivered);
    } catch (error) {
      signal.throwIfAborted();
      if (!hasCode(error, "unavailable")) throw error;
      if (performance.now() > giveUpAtMs) throw error;
    }
    if (delivered.stdout + delivered.stderr > before) waitMs = backoffMs.first;
    await abortable(sleep(waitMs, undefined, { ref: false }), signal);
    waitMs = Math.min(waitMs * 2, backoffMs.most);
  }
}

async function attachOnce(options: AttachOptions, delivered: Delivered): Promise<CallEnd> {
  const { request, signal, overdueMs = defaultOverdueMs } = options;
  const lease = await options.openChannel();
  try {
    const claiming = { what: "the sandbox", timeoutMs: overdueMs, signal };
    await bounded(claiming, () => lease.channel.run(request));
    options.onClaimed();
    const following = { what: "the command's sandbox", timeoutMs: request.timeoutMs + overdueMs, signal };
    return await bounded(following, (bound) => follow(lease, options, delivered, bound));
  } catch (error) {
    // Broken or stuck: whoever else follows on it is interrupted too, and all get a new one.
    if (hasCode(error, "unavailable")) lease.discard();
    throw error;
  } finally {
    lease.release();
  }
}

async function follow(
  { channel }: ChannelLease,
  options: AttachOptions,
  delivered: Delivered,
  signal: AbortSignal,
): Promise<CallEnd> {
  const { request } = options;
  const end = await channel.follow(request.callId, {
    from: { ...delivered },
    signal,
    async onOutput(stream, bytes, offset) {
      // A given-up channel may still deliver; its bytes come again on the next one.
      signal.throwIfAborted();
      const missing = offset - delivered[stream];
      if (missing > 0) throw interrupted(request, `${missing} bytes of ${stream} were skipped`);
      const fresh = bytes.subarray(-missing);
      delivered[stream] += fresh.byteLength;
      await options.onOutput(stream, fresh);
    },
  });
  const { stdout, stderr } = end.totals;
  if (stdout > delivered.stdout || stderr > delivered.stderr) {
    throw interrupted(request, "its output ended before its record says so");
  }
  return end;
}

function interrupted({ callId }: RunRequest, what: string): ProviderError {
  return new ProviderError("unavailable", `following call ${callId} was interrupted: ${what}`);
}
