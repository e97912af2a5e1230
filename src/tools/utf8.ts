import { ProviderError } from "../providers/errors.js";

/** The text's bytes; refuses half of a surrogate pair, which would silently become another character. */
export function utf8Bytes(text: string, field: string): Buffer {
  if (!/\p{Surrogate}/u.test(text)) return Buffer.from(text, "utf8");
  throw new ProviderError("invalid-request", `${field}: contains half of a surrogate pair`, {
    field,
    hint: "Send whole characters, or the bytes as base64.",
  });
}

/** A name for people: bytes that are not UTF-8 appear as `\xff`, and the bytes themselves beside it. */
export function displayName(bytes: Uint8Array): { name: string; nameBase64?: string } {
  const buffer = Buffer.from(bytes);
  const name = buffer.toString("utf8");
  if (Buffer.from(name, "utf8").equals(buffer)) return { name };
  return { name: escapeInvalid(buffer), nameBase64: buffer.toString("base64") };
}

function escapeInvalid(bytes: Buffer): string {
  let text = "";
  for (let at = 0; at < bytes.byteLength;) {
    const size = [1, 2, 3, 4].find((length) => {
      const part = bytes.subarray(at, at + length);
      return part.byteLength === length && Buffer.from(part.toString("utf8"), "utf8").equals(part);
    });
    text +=
      size === undefined ? `\\x${bytes.toString("hex", at, at + 1)}` : bytes.toString("utf8", at, at + size);
    at += size ?? 1;
  }
  return text;
}
