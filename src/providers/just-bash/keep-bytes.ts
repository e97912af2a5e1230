import { decodeBytes, encodeText } from "./byte-text.js";

/**
 * Replaces this thread's text codecs, before just-bash takes hold of them: it moves output, files and pipes
 * between bytes and text with these, and the standard ones lose every byte that is not UTF-8, and a byte order
 * mark. Only the thread that runs scripts imports this module, for its effect and first of all.
 */
class KeepingDecoder extends TextDecoder {
  override decode(input?: NodeJS.ArrayBufferView | ArrayBuffer, options?: { stream?: boolean }): string {
    if (input === undefined || this.encoding !== "utf-8" || options?.stream === true) {
      return super.decode(input, options);
    }
    return decodeBytes(
      ArrayBuffer.isView(input)
        ? new Uint8Array(input.buffer, input.byteOffset, input.byteLength)
        : new Uint8Array(input),
    );
  }
}

class KeepingEncoder extends TextEncoder {
  override encode(input = ""): Uint8Array<ArrayBuffer> {
    return encodeText(input);
  }
}

globalThis.TextDecoder = KeepingDecoder;
globalThis.TextEncoder = KeepingEncoder;
