import { limits } from "../contract/names.js";

/** Of an answer, for all that isn't the list. */
const reservedBytes = 8 * 1024;

/** As many items from the beginning as an answer can hold. */
export function fitting<T>(items: readonly T[]): T[] {
  let left = limits.answerBytes - reservedBytes;
  const tooMany = items.findIndex((item) => {
    left -= Buffer.byteLength(JSON.stringify(item)) + 1;
    return left < 0;
  });
  return tooMany === -1 ? [...items] : items.slice(0, tooMany);
}
