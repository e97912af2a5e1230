import { defineCommand, type Command } from "just-bash";

const windDownSite = "holdfast-wind-down";

/**
 * `sleep` is what scripts wait in. When the call is wound down (timeout, kill) it ends the script by using up
 * its budget: that, unlike the interpreter's abort, keeps what the script printed so far.
 */
export function interruptibleSleep(woundDown: Promise<"wound-down">): Command {
  return defineCommand("sleep", async (args, context) => {
    const original = context.origCommand;
    if (original === undefined) throw new Error("sleep: the built-in command is missing");
    // The built-in doesn't know `.5`.
    const intervals = args.map((arg) => (/^\.\d/.test(arg) ? `0${arg}` : arg));
    const first = await Promise.race([original(intervals), woundDown]);
    if (first !== "wound-down") return first;
    context.executionScope?.consumeWork(Number.MAX_SAFE_INTEGER, windDownSite);
    throw new Error("sleep: the script could not be ended");
  });
}

/** The interpreter's own remark about the used-up budget is no output of the command. */
export function withoutWindDown(stderr: string): string {
  const start = stderr.lastIndexOf(`bash: ${windDownSite}`);
  return start < 0 ? stderr : stderr.slice(0, start);
}

/**
 * `printf '\303'` means a byte, and the built-in makes the character U+00C3 of it. Its `\xc3` is a byte, so
 * octal escapes above ASCII are rewritten to that.
 */
export function bytePrintf(): Command {
  return defineCommand("printf", async (args, context) => {
    const original = context.origCommand;
    if (original === undefined) throw new Error("printf: the built-in command is missing");
    const format = args[0] === "-v" ? 2 : args[0] === "--" ? 1 : 0;
    return original(args.map((arg, index) => (index === format ? withHexEscapes(arg) : arg)));
  });
}

function withHexEscapes(format: string): string {
  // A doubled backslash is matched first, so that what follows it is left alone.
  return format.replace(/\\(\\|[0-7]{1,3})/g, (escape, code: string) => {
    const byte = code === "\\" ? 0 : Number.parseInt(code, 8) & 0xff;
    return byte < 0x80 ? escape : `\\x${byte.toString(16)}`;
  });
}
