import { z } from "zod";
import { outcomeSchema } from "../contract/call.js";
import { backgroundSchema } from "../contract/state.js";
import type { CallEnd, FollowOptions, OutputStream } from "../providers/channel.js";
import { ProviderError } from "../providers/errors.js";
import type { GuestConnection } from "./guest-connection.js";
import { frameLimits, protocolError, type Frame } from "./guest-frames.js";

/** Output under way to this process at once, per followed call: what a slow consumer costs in memory. */
const windowBytes = 2 * 1024 * 1024;
/** What a consumer gets at once: a piece is copied and decoded whole. */
const pieceBytes = 64 * 1024;
/** Credit goes back in pieces of this size: a frame per chunk would double the traffic. */
const creditStepBytes = 512 * 1024;

const totals = z.object({ stdout: z.number().int().min(0), stderr: z.number().int().min(0) });

const endSchema = z.object({
  // A tool's plain "ok" is no way for a command to end.
  outcome: outcomeSchema.refine((outcome) => outcome.kind !== "ok"),
  totals,
  startedAtMs: z.number(),
  endedAtMs: z.number(),
  background: z.array(backgroundSchema).default([]),
  poisoned: z.boolean().optional(),
});

/**
 * Delivers a call's output in order and then its end. The end is only believed when both streams were delivered
 * up to its totals: whatever stops earlier is an interruption, never a success.
 */
export async function followCall(
  connection: GuestConnection,
  callId: string,
  options: FollowOptions,
): Promise<CallEnd> {
  const delivered = { ...options.from };
  let underWayBytes = 0;
  let consumedBytes = 0;
  let failure: unknown;
  // Consumers are awaited one after the other; the channel itself is always read, up to the granted window.
  let deliveries: Promise<void> = Promise.resolve();

  const giveUp = (reason: unknown): void => {
    failure ??= reason;
    request.send({ type: "abort" });
  };
  const deliver = async (stream: OutputStream, bytes: Buffer, offset: number): Promise<void> => {
    if (failure !== undefined) return;
    try {
      for (let start = 0; start < bytes.length; start += pieceBytes) {
        await options.onOutput(stream, bytes.subarray(start, start + pieceBytes), offset + start);
      }
    } catch (error) {
      giveUp(error);
      return;
    }
    underWayBytes -= bytes.length;
    consumedBytes += bytes.length;
    if (consumedBytes < creditStepBytes) return;
    request.send({ type: "credit", credit: consumedBytes });
    consumedBytes = 0;
  };
  const onFrame = (frame: Frame): void => {
    const { stream, offset } = outputHeader(frame);
    if (offset !== delivered[stream]) throw protocolError("output is not contiguous");
    delivered[stream] += frame.payload.length;
    underWayBytes += frame.payload.length;
    if (underWayBytes > windowBytes) throw protocolError("more output than was granted");
    deliveries = deliveries.then(() => deliver(stream, frame.payload, offset));
  };
  const request = connection.request(
    { op: "follow", callId, ...options.from, credit: windowBytes },
    undefined,
    onFrame,
  );

  const onAbort = (): void => {
    giveUp(
      new ProviderError("unavailable", "the following was given up; the command goes on", {
        cause: options.signal.reason,
      }),
    );
  };
  options.signal.addEventListener("abort", onAbort, { once: true });
  if (options.signal.aborted) onAbort();
  try {
    const frame = await request.done.catch((error: unknown) => {
      failure ??= error;
      return undefined;
    });
    // Also after a failure: a consumer still busy would otherwise meet the output of the next attempt.
    await deliveries;
    if (frame === undefined || failure !== undefined) throw asError(failure);
    return readEnd(connection, frame, delivered);
  } finally {
    options.signal.removeEventListener("abort", onAbort);
  }
}

function outputHeader({ header, payload }: Frame): { stream: OutputStream; offset: number } {
  const { type, stream, offset } = header;
  if (type !== "output" || (stream !== "stdout" && stream !== "stderr") || typeof offset !== "number") {
    throw protocolError("something else than output while following");
  }
  if (payload.length > frameLimits.dataBytes) throw protocolError("an output frame is too large");
  return { stream, offset };
}

function readEnd(connection: GuestConnection, frame: Frame, delivered: z.infer<typeof totals>): CallEnd {
  const end = endSchema.safeParse(frame.header["end"]);
  const isWhole =
    end.success && end.data.totals.stdout === delivered.stdout && end.data.totals.stderr === delivered.stderr;
  if (!isWhole) {
    const error = protocolError(
      end.success ? "the end's totals are not what was delivered" : "an end that can't be read",
    );
    connection.fail(error);
    throw error;
  }
  const { outcome, poisoned, ...rest } = end.data;
  return {
    outcome,
    ...rest,
    ...(poisoned === true ? { poisoned } : {}),
  };
}

/** Consumers may throw anything; what reaches the caller is an error. */
function asError(failure: unknown): Error {
  return failure instanceof Error ? failure : new ProviderError("internal", String(failure));
}
