const isContinuation = (byte: number): boolean => (byte & 0xc0) === 0x80;

function sequenceBytes(lead: number): number {
  if (lead >= 0xf0) return 4;
  if (lead >= 0xe0) return 3;
  return lead >= 0xc0 ? 2 : 1;
}

/** The largest position up to `end` that does not cut a character. */
export function cutEnd(bytes: Uint8Array, end: number): number {
  for (let start = end - 1; start >= Math.max(0, end - 3); start -= 1) {
    const byte = bytes[start] ?? 0;
    if (isContinuation(byte)) continue;
    return start + sequenceBytes(byte) > end ? start : end;
  }
  return end;
}

/** The smallest position from `start` on that does not cut a character. */
export function cutStart(bytes: Uint8Array, start: number): number {
  let position = start;
  while (position < Math.min(bytes.byteLength, start + 3) && isContinuation(bytes[position] ?? 0))
    position += 1;
  return position;
}

/** Where the first `count` characters of a range end; undefined when it has no more than that. */
export function afterCharacters(bytes: Uint8Array, start: number, end: number, count: number) {
  let seen = 0;
  for (let position = start; position < end; position += 1) {
    if (isContinuation(bytes[position] ?? 0)) continue;
    if (seen === count) return position;
    seen += 1;
  }
  return undefined;
}

/** Where the last `count` characters of a range start. */
export function beforeCharacters(bytes: Uint8Array, start: number, end: number, count: number): number {
  let seen = 0;
  for (let position = end - 1; position >= start; position -= 1) {
    if (isContinuation(bytes[position] ?? 0)) continue;
    seen += 1;
    if (seen === count) return position;
  }
  return start;
}
