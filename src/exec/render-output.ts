import { isUtf8 } from "node:buffer";
import { windowBytes, type OutputView } from "./output-window.js";
import { afterCharacters, beforeCharacters, cutEnd, cutStart } from "./utf8-cut.js";

const maxLines = 2000;
const headLines = 400;
const maxLineCharacters = 2000;
const headCharacters = 400;

/** What an answer shows of a stream. `exact`: the text alone gives the stream's bytes back. */
export interface RenderedOutput {
  readonly text: string;
  readonly encoding?: "base64";
  readonly omittedBytes: number;
  readonly exact: boolean;
}

interface Range {
  readonly start: number;
  readonly end: number;
}

export const encodedBytes = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

/**
 * Makes text of a stream's head and tail: at most 50 KB, 2,000 lines, 2,000 characters a line, and
 * `maxEncodedBytes` as JSON. What is left out is named where it was; nothing is cut inside a character.
 */
export function renderOutput(view: OutputView, maxEncodedBytes: number): RenderedOutput {
  const bytes = Buffer.concat([view.head, view.tail]);
  if (looksBinary(bytes)) return renderBinary(view, bytes, maxEncodedBytes);
  for (let maxBytes = windowBytes; ;) {
    const rendered = renderText(view, bytes, maxBytes);
    const encoded = encodedBytes(rendered.text);
    if (encoded <= maxEncodedBytes || maxBytes === 0) return rendered;
    // A character may take up to six bytes when encoded; 5% less than the share, so that few rounds do.
    maxBytes = Math.floor((Math.min(maxBytes, bytes.byteLength) * maxEncodedBytes * 0.95) / encoded);
  }
}

/** NUL, or more than a tenth of what no text holds: control characters and invalid UTF-8. */
function looksBinary(bytes: Buffer): boolean {
  if (bytes.includes(0)) return true;
  const strange = bytes.toString("utf8").match(/[\x01-\x06\x0e-\x1a\x1c-\x1f\x7f\ufffd]/g)?.length ?? 0;
  return strange > bytes.byteLength / 10;
}

/** Base64 has no readable tail: of what is too long only the beginning is shown. */
function renderBinary({ totalBytes }: OutputView, bytes: Buffer, maxEncodedBytes: number): RenderedOutput {
  const complete = bytes.byteLength === totalBytes;
  const available = complete ? bytes.byteLength : windowBytes / 5;
  // Whole groups of three bytes, so that the text can be decoded without padding in the middle.
  const fitting = Math.floor((maxEncodedBytes - 2) / 4) * 3;
  const shown = bytes.subarray(0, Math.max(0, Math.min(available, fitting)));
  return {
    text: shown.toString("base64"),
    encoding: "base64",
    omittedBytes: totalBytes - shown.byteLength,
    exact: shown.byteLength === totalBytes,
  };
}

function renderText(view: OutputView, bytes: Buffer, maxBytes: number): RenderedOutput {
  const gapAt = view.head.byteLength;
  const gapBytes = view.totalBytes - bytes.byteLength;
  // Positions in `bytes` -> positions in the stream.
  const streamStart = (at: number) => (at < gapAt || gapBytes === 0 ? at : at + gapBytes);
  const streamEnd = (at: number) => (at <= gapAt || gapBytes === 0 ? at : at + gapBytes);

  let text = "";
  let shownEnd = 0;
  let omittedBytes = 0;
  const omit = (upTo: number) => {
    const missing = upTo - shownEnd;
    if (missing <= 0) return;
    omittedBytes += missing;
    const separator = text === "" || text.endsWith("\n") ? "" : "\n";
    text += `${separator}[... ${missing} bytes omitted ...]\n`;
  };
  for (const range of merged(keptRanges(bytes, gapBytes, maxBytes), gapAt)) {
    omit(streamStart(range.start));
    text += bytes.toString("utf8", range.start, range.end);
    shownEnd = streamEnd(range.end);
  }
  omit(view.totalBytes);
  return { text, omittedBytes, exact: omittedBytes === 0 && isUtf8(bytes) };
}

function keptRanges(bytes: Buffer, gapBytes: number, maxBytes: number): Range[] {
  const size = bytes.byteLength;
  if (gapBytes === 0 && size <= maxBytes)
    return keepLines(bytes, linesOf(bytes, { start: 0, end: size }), -1);
  const headEnd = cutEnd(bytes, Math.floor(Math.min(size, maxBytes) / 5));
  const tailStart = Math.max(headEnd, cutStart(bytes, size - Math.ceil((Math.min(size, maxBytes) / 5) * 4)));
  const lines = [
    ...linesOf(bytes, { start: 0, end: headEnd }),
    ...linesOf(bytes, { start: tailStart, end: size }),
  ];
  return keepLines(bytes, lines, headEnd, tailStart);
}

function linesOf(bytes: Buffer, { start, end }: Range): Range[] {
  const lines: Range[] = [];
  for (let from = start; from < end;) {
    const newline = bytes.indexOf(0x0a, from);
    const to = newline === -1 || newline >= end ? end : newline + 1;
    lines.push({ start: from, end: to });
    from = to;
  }
  return lines;
}

function keepLines(bytes: Buffer, lines: Range[], headEnd: number, tailStart = -1): Range[] {
  const kept =
    lines.length <= maxLines ? lines : [...lines.slice(0, headLines), ...lines.slice(headLines - maxLines)];
  return kept.flatMap((line) => shorten(bytes, line, { headEnd, tailStart }));
}

/** Cuts a long line: at its end or start where the stream is cut there anyway, else in the middle. */
function shorten(bytes: Buffer, line: Range, cut: { headEnd: number; tailStart: number }): Range[] {
  if (line.end - line.start <= maxLineCharacters) return [line];
  const newline = bytes[line.end - 1] === 0x0a ? 1 : 0;
  const end = line.end - newline;
  const limit = afterCharacters(bytes, line.start, end, maxLineCharacters);
  if (limit === undefined) return [line];
  if (line.end === cut.headEnd && newline === 0) return [{ start: line.start, end: limit }];
  const tailOf = (count: number) => ({
    start: beforeCharacters(bytes, line.start, end, count),
    end: line.end,
  });
  if (line.start === cut.tailStart) return [tailOf(maxLineCharacters)];
  const headEnd = afterCharacters(bytes, line.start, end, headCharacters) ?? limit;
  return [{ start: line.start, end: headEnd }, tailOf(maxLineCharacters - headCharacters)];
}

/** Joins neighbours, so that each stretch is decoded at once. The stream's gap keeps its two sides apart. */
function merged(ranges: readonly Range[], gapAt: number): Range[] {
  const result: Range[] = [];
  for (const range of ranges) {
    const last = result.at(-1);
    if (last?.end === range.start && range.start !== gapAt)
      result[result.length - 1] = { ...last, end: range.end };
    else result.push(range);
  }
  return result;
}
