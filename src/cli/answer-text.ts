import type { Outcome } from "../contract/call.js";
import { textSchema, type Text } from "../contract/refs.js";

export function textBytes({ text, encoding }: Text): Buffer {
  return Buffer.from(text, encoding ?? "utf8");
}

/** What was cut out of a stream and where it is whole; undefined when nothing was. */
export function omittedNote(name: string, text: Text): string | undefined {
  if (text.omittedBytes === 0) return undefined;
  const whole = text.full === undefined ? "" : `; all of it: holdfast artifact get ${text.full.key}`;
  return `(${name}: ${text.omittedBytes} of ${text.totalBytes} bytes are left out${whole})`;
}

/** One line about the end of a call; undefined where the output says it all. */
export function outcomeNote(outcome: Outcome | undefined): string | undefined {
  switch (outcome?.kind) {
    case undefined:
    case "ok":
    case "exited":
      return undefined;
    case "signaled":
      return `The command was killed by ${outcome.signal}${outcome.oom === true ? ": out of memory" : ""}.`;
    case "timed-out":
      return `The command ran into its timeout of ${outcome.timeoutMs} ms and was ended.`;
    case "cancelled":
      return `The command was cancelled by ${outcome.by}.`;
    case "output-limit":
      return `The command was ended: its ${outcome.stream} went over ${outcome.limitBytes} bytes.`;
    case "lost":
      return `The command was lost: ${outcome.reason}.`;
    case "error":
      return `${outcome.error.message}${outcome.error.hint === undefined ? "" : `\n  ${outcome.error.hint}`}`;
  }
}

/** Streams of a result that is or contains text, in the order people read them. */
export function textsOf(result: Record<string, unknown> | undefined): Record<string, Text> {
  const texts: Record<string, Text> = {};
  for (const name of ["stdout", "stderr", "content"]) {
    const parsed = textSchema.safeParse(result?.[name]);
    if (parsed.success) texts[name] = parsed.data;
  }
  return texts;
}
