import { ProviderError } from "../providers/errors.js";
import { utf8Bytes } from "./utf8.js";

export interface TextEdit {
  readonly oldText: string;
  readonly newText: string;
  readonly replaceAll?: boolean | undefined;
}

/**
 * Replaces text in a file's bytes, one edit after the other. Works on bytes, written as Latin-1 strings of the
 * same length, so that what is not UTF-8 stays as it is. Throws `not-found` or `not-unique`: all edits or none.
 */
export function replaceText(
  content: Buffer,
  edits: readonly TextEdit[],
): { content: Buffer; replacements: number } {
  let text = content.toString("latin1");
  let replacements = 0;
  for (const [index, edit] of edits.entries()) {
    const result = applyEdit(text, edit, `input.edits.${index}`);
    text = result.text;
    replacements += result.replacements;
  }
  return { content: Buffer.from(text, "latin1"), replacements };
}

function applyEdit(text: string, edit: TextEdit, field: string): { text: string; replacements: number } {
  const oldText = utf8Bytes(edit.oldText, `${field}.oldText`).toString("latin1");
  const newText = utf8Bytes(edit.newText, `${field}.newText`).toString("latin1");
  const pattern = patternOf(oldText);
  const count = countMatches(text, pattern);
  if (count === 0) throw noMatch(edit, field);
  if (count > 1 && edit.replaceAll !== true) throw notUnique(count, field);
  // Who writes line endings out means them; otherwise they are the file's business.
  const adapts = !oldText.includes("\r") && !newText.includes("\r");
  let replacements = 0;
  const replaced = text.replace(pattern, (match) => {
    replacements += 1;
    // A function's result is taken literally: `$&` in it has no meaning.
    return adapts && endsLinesWithCrlf(match, text) ? newText.replaceAll("\n", "\r\n") : newText;
  });
  return { text: replaced, replacements };
}

/** The text itself; its "\n" also finds "\r\n", whole. */
function patternOf(oldText: string): RegExp {
  const literal = oldText.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
  return new RegExp(
    oldText.includes("\r") ? literal : literal.replaceAll("\n", "(?:\\r\\n|(?<!\\r)\\n)"),
    "g",
  );
}

/** Overlapping ones too: "aa" is not unique in "aaa". */
function countMatches(text: string, pattern: RegExp): number {
  const search = new RegExp(pattern, "g");
  let count = 0;
  for (let match = search.exec(text); match !== null; match = search.exec(text)) {
    count += 1;
    search.lastIndex = match.index + 1;
  }
  return count;
}

/** As the replaced text does; when it is within a line, as the whole file does. */
function endsLinesWithCrlf(match: string, text: string): boolean {
  if (match.includes("\n")) return /^[^\n]*\r\n/.test(match);
  return text.includes("\r\n") && !/(?<!\r)\n/.test(text);
}

function noMatch({ oldText }: TextEdit, field: string): ProviderError {
  return new ProviderError("not-found", `${field}.oldText occurs 0 times: ${shortened(oldText)}`, {
    field: `${field}.oldText`,
    hint: "Read the file and copy the text exactly, spaces included. Nothing was changed.",
  });
}

function notUnique(count: number, field: string): ProviderError {
  return new ProviderError("not-unique", `${field}.oldText occurs ${count} times`, {
    field: `${field}.oldText`,
    hint: "Add surrounding lines until it is unique, or set replaceAll. Nothing was changed.",
  });
}

const shortened = (text: string): string =>
  JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}...` : text);
