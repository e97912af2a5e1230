import { afterCharacters } from "../exec/utf8-cut.js";

const maxPageBytes = 50 * 1024;
/** As JSON, where a control character takes six bytes. */
const maxEncodedPageBytes = 112 * 1024;
const maxLineCharacters = 2000;
/** What 2,000 characters can take, and one byte to see that there are more. */
const maxLineBytes = maxLineCharacters * 4 + 1;

/** Lines of a file from one on, until the page is full. Fed with the file's bytes in order. */
export interface LinePage {
  add(bytes: Uint8Array): void;
  /** No more is needed, unless to count lines. */
  readonly full: boolean;
  finish(): PageResult;
}

export interface PageResult {
  /** Whole lines with their newlines; long ones cut, and what was cut is said in the text. */
  readonly text: Buffer;
  /** Bytes of the file that the text shows. */
  readonly shownBytes: number;
  readonly totalLines: number;
  /** The first line that isn't shown any more; undefined at the end of the file. */
  readonly nextOffset: number | undefined;
}

export function createLinePage({ offset, limit }: { offset: number; limit: number }): LinePage {
  const parts: Buffer[] = [];
  let pageBytes = 0;
  let encodedBytes = 0;
  let shownBytes = 0;
  let shownLines = 0;
  let full = false;
  let lineNumber = 1;
  let line: Buffer[] = [];
  let keptBytes = 0;
  let lineBytes = 0;

  function takeLine(bytes: Uint8Array): void {
    lineBytes += bytes.byteLength;
    if (lineNumber < offset || full) return;
    const kept = Buffer.from(bytes.subarray(0, maxLineBytes - keptBytes));
    keptBytes += kept.byteLength;
    if (kept.byteLength > 0) line.push(kept);
  }

  function endLine(newline: boolean): void {
    if (lineNumber >= offset && !full) {
      const { text, shown } = cutLine(Buffer.concat(line), lineBytes, newline);
      const encoded = Buffer.byteLength(JSON.stringify(text.toString("utf8"))) - 2;
      const fits =
        pageBytes + text.byteLength <= maxPageBytes && encodedBytes + encoded <= maxEncodedPageBytes;
      if (shownLines === limit || (!fits && shownLines > 0)) full = true;
      else {
        parts.push(text);
        pageBytes += text.byteLength;
        encodedBytes += encoded;
        shownBytes += shown;
        shownLines += 1;
      }
    }
    line = [];
    keptBytes = 0;
    lineBytes = 0;
    lineNumber += 1;
  }

  return {
    add(bytes) {
      const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
      for (let from = 0; from < buffer.byteLength;) {
        const newline = buffer.indexOf(0x0a, from);
        const to = newline === -1 ? buffer.byteLength : newline;
        takeLine(buffer.subarray(from, to));
        if (newline !== -1) endLine(true);
        from = to + 1;
      }
    },
    get full() {
      return full;
    },
    finish() {
      if (lineBytes > 0) endLine(false);
      const totalLines = lineNumber - 1;
      return {
        text: Buffer.concat(parts),
        shownBytes,
        totalLines,
        nextOffset: full ? offset + shownLines : undefined,
      };
    },
  };
}

function cutLine(kept: Buffer, lineBytes: number, newline: boolean): { text: Buffer; shown: number } {
  const ending = newline ? "\n" : "";
  const cutAt = afterCharacters(kept, 0, kept.byteLength, maxLineCharacters);
  if (cutAt === undefined) {
    return { text: Buffer.concat([kept, Buffer.from(ending)]), shown: lineBytes + ending.length };
  }
  const note = ` [... ${lineBytes - cutAt} bytes of this line omitted ...]${ending}`;
  return { text: Buffer.concat([kept.subarray(0, cutAt), Buffer.from(note)]), shown: cutAt + ending.length };
}
