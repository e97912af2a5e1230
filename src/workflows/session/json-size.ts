/**
 * Size of a value's JSON encoding in bytes of UTF-8, which is what Temporal stores and limits. Counted by
 * hand because the workflow sandbox is compiled without Node's Buffer and the DOM's TextEncoder.
 */
export function jsonBytes(value: unknown): number {
  const json = JSON.stringify(value) as string | undefined;
  return json === undefined ? 0 : utf8Bytes(json);
}

export function utf8Bytes(text: string): number {
  let bytes = 0;
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    if (unit < 0x80) bytes += 1;
    else if (unit < 0x800) bytes += 2;
    else if (unit >= 0xd800 && unit < 0xdc00) {
      bytes += 4;
      index += 1;
    } else bytes += 3;
  }
  return bytes;
}

/** Whether a value nests deeper than is safe for whatever walks it by recursion, `JSON.stringify` included. */
export function isTooDeep(value: unknown, most: number): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > most) return true;
    level = level.flatMap((entry) =>
      typeof entry === "object" && entry !== null ? (Object.values(entry) as unknown[]) : [],
    );
  }
  return false;
}
