/**
 * The exact bytes of an output of just-bash. It hands over a string in one of two shapes and doesn't say which:
 * text (one character per code point), or, when the bytes were no valid UTF-8, one character per byte.
 *
 * - a character above U+00FF: text;
 * - NUL or a C1 control (U+0080 to U+009F), and nothing above U+00FF: bytes, as text doesn't hold those;
 * - else text. A Latin-1 file printed by `cat` thereby arrives as UTF-8: the one known re-encoding.
 */
export function outputBytes(output: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Buffer.from(output, isByteString(output) ? "latin1" : "utf8"));
}

function isByteString(output: string): boolean {
  let evidence = false;
  for (let index = 0; index < output.length; index++) {
    const code = output.charCodeAt(index);
    if (code > 0xff) return false;
    if (code === 0 || (code >= 0x80 && code <= 0x9f)) evidence = true;
  }
  return evidence;
}
