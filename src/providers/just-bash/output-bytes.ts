import { isUtf8 } from "node:buffer";
import { encodeText } from "./byte-text.js";

/** stdout, as it was before the interpreter guesses at its encoding, is text with kept bytes throughout. */
export function stdoutBytes(output: string): Uint8Array<ArrayBuffer> {
  return encodeText(output);
}

/**
 * stderr comes in two shapes and doesn't say which: text, or one character per byte (what a command redirects
 * with `>&2`). Text when a character is above U+00FF; bytes when they are valid UTF-8, or hold NUL or C1
 * controls, which text doesn't; else text. The one known mistake: `echo 'Ã©' >&2` arrives as `é`.
 */
export function stderrBytes(output: string): Uint8Array<ArrayBuffer> {
  if (!isByteString(output)) return encodeText(output);
  return new Uint8Array(Buffer.from(output, "latin1"));
}

function isByteString(output: string): boolean {
  let wide = false;
  let control = false;
  for (let index = 0; index < output.length; index++) {
    const code = output.charCodeAt(index);
    if (code > 0xff) return false;
    if (code > 0x7f) wide = true;
    if (code === 0 || (code >= 0x80 && code <= 0x9f)) control = true;
  }
  return control || (wide && isUtf8(Buffer.from(output, "latin1")));
}
