/**
 * Text that keeps bytes which are no UTF-8: such a byte 0xNN stands as the lone surrogate U+DCNN, which no
 * valid text contains, and becomes that byte again when the text is encoded.
 */

const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const encoder = new TextEncoder();
/** With the `u` flag only a lone surrogate matches, never half of a proper pair. */
const keptByte = /[\udc80-\udcff]/u;

export function decodeBytes(bytes: Uint8Array): string {
  try {
    return strict.decode(bytes);
  } catch {
    // Not UTF-8 as a whole: decoded piece by piece, with what is none of it kept.
    return decodePieces(bytes);
  }
}

export function encodeText(text: string): Uint8Array<ArrayBuffer> {
  if (!keptByte.test(text)) return encoder.encode(text);
  const pieces: Uint8Array[] = [];
  for (const [piece, escaped] of split(text)) {
    pieces.push(
      escaped ? Uint8Array.from(piece, (char) => char.charCodeAt(0) & 0xff) : encoder.encode(piece),
    );
  }
  return new Uint8Array(Buffer.concat(pieces));
}

/** Alternating runs of proper text and of kept bytes. */
function* split(text: string): Generator<[piece: string, escaped: boolean]> {
  let end = 0;
  for (const match of text.matchAll(/[\udc80-\udcff]+/gu)) {
    if (match.index > end) yield [text.slice(end, match.index), false];
    yield [match[0], true];
    end = match.index + match[0].length;
  }
  if (end < text.length) yield [text.slice(end), false];
}

function decodePieces(bytes: Uint8Array): string {
  const pieces: string[] = [];
  let valid = 0;
  let at = 0;
  const flush = (): void => {
    if (at > valid) pieces.push(strict.decode(bytes.subarray(valid, at)));
  };
  while (at < bytes.length) {
    const length = sequenceLength(bytes, at);
    if (length > 0) {
      at += length;
      continue;
    }
    flush();
    pieces.push(String.fromCharCode(0xdc00 + (bytes[at] ?? 0)));
    at++;
    valid = at;
  }
  flush();
  return pieces.join("");
}

/** Bytes of the well-formed sequence that starts here, 0 when none does. */
function sequenceLength(bytes: Uint8Array, at: number): number {
  const first = bytes[at] ?? 0;
  if (first < 0x80) return 1;
  const length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || at + length > bytes.length) return 0;
  for (let next = 1; next < length; next++) {
    if (((bytes[at + next] ?? 0) & 0xc0) !== 0x80) return 0;
  }
  // Overlong forms, surrogates and what is beyond U+10FFFF show in the second byte.
  const second = bytes[at + 1] ?? 0;
  if (first === 0xe0 && second < 0xa0) return 0;
  if (first === 0xed && second > 0x9f) return 0;
  if (first === 0xf0 && second < 0x90) return 0;
  if (first === 0xf4 && second > 0x8f) return 0;
  return length;
}
