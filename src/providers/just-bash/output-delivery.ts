import { open } from "node:fs/promises";
import { ProviderError } from "../errors.js";
import type { CallEnd, FollowOptions, OutputStream } from "../channel.js";
import type { CallRecord } from "./call-record.js";
import { isErrno } from "./durable-file.js";

const chunkBytes = 64 * 1024;

/**
 * Hands over a finished call's output from the given offsets, exactly up to its totals. Each chunk is awaited,
 * so that a slow receiver never makes more than one of them pile up.
 */
export async function deliver(record: CallRecord, end: CallEnd, options: FollowOptions): Promise<void> {
  for (const stream of ["stdout", "stderr"] as const) {
    await deliverStream(record, stream, end.totals[stream], options);
  }
}

async function deliverStream(
  record: CallRecord,
  stream: OutputStream,
  total: number,
  options: FollowOptions,
): Promise<void> {
  let offset = options.from[stream];
  if (offset > total) {
    throw new ProviderError("invalid-request", `${stream} has ${total} bytes, not ${offset}`, {
      hint: "Follow from an offset that was delivered before.",
    });
  }
  if (offset === total) return;
  const file = await open(record.outputPath(stream)).catch((error: unknown) => {
    throw isErrno(error, "ENOENT") ? interrupted(stream) : error;
  });
  try {
    while (offset < total) {
      options.signal.throwIfAborted();
      const chunk = Buffer.alloc(Math.min(chunkBytes, total - offset));
      const { bytesRead } = await file.read(chunk, 0, chunk.length, offset);
      if (bytesRead === 0) throw interrupted(stream);
      await options.onOutput(stream, chunk.subarray(0, bytesRead), offset);
      offset += bytesRead;
    }
  } finally {
    await file.close();
  }
}

function interrupted(stream: OutputStream): ProviderError {
  return new ProviderError("unavailable", `${stream} ended before its recorded total`, {
    hint: "Follow the call again; when this repeats, its output was removed.",
  });
}
