/** What an answer shows of one stream at most. The tail is favoured: errors come last. */
export const windowBytes = 50 * 1024;
const headBytes = windowBytes / 5;
const tailBytes = windowBytes - headBytes;

/** The first and the last bytes of a stream; all of it while `totalBytes` is their sum. */
export interface OutputView {
  readonly head: Buffer;
  readonly tail: Buffer;
  readonly totalBytes: number;
}

/** Keeps the head and the tail of a stream of any length in bounded memory. */
export interface OutputWindow {
  add(bytes: Uint8Array): void;
  view(): OutputView;
}

export function createOutputWindow(): OutputWindow {
  let head = Buffer.alloc(0);
  // Twice the size, so that old bytes are dropped by one copy every `tailBytes` and not with each chunk.
  let ring: Buffer | undefined;
  let ringEnd = 0;
  let totalBytes = 0;

  function addToTail(bytes: Uint8Array): void {
    ring ??= Buffer.allocUnsafe(2 * tailBytes);
    const kept = bytes.subarray(Math.max(0, bytes.byteLength - tailBytes));
    if (ringEnd + kept.byteLength > ring.byteLength) {
      const keepBytes = Math.min(ringEnd, tailBytes);
      ring.copyWithin(0, ringEnd - keepBytes, ringEnd);
      ringEnd = keepBytes;
    }
    ring.set(kept, ringEnd);
    ringEnd += kept.byteLength;
  }

  return {
    add(bytes) {
      totalBytes += bytes.byteLength;
      const forHead = bytes.subarray(0, headBytes - head.byteLength);
      if (forHead.byteLength > 0) head = Buffer.concat([head, forHead]);
      if (forHead.byteLength < bytes.byteLength) addToTail(bytes.subarray(forHead.byteLength));
    },
    view() {
      const tail = ring?.subarray(Math.max(0, ringEnd - tailBytes), ringEnd) ?? Buffer.alloc(0);
      return { head, tail, totalBytes };
    },
  };
}
