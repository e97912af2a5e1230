import ora from "ora";

export interface Progress {
  readonly say: (message: string) => void;
}

/**
 * Runs something that may take long: a spinner on a terminal, after a second; plain lines elsewhere only for what
 * `say` adds, so that logs show the steps.
 */
export async function withProgress<T>(
  message: string,
  work: (progress: Progress) => Promise<T>,
  { quiet = false }: { quiet?: boolean } = {},
): Promise<T> {
  // A pseudo-terminal that nobody gave a size has no columns, and the spinner would count lines for ever.
  const terminal = process.stderr.isTTY && process.stderr.columns > 0 && !quiet;
  const spinner = ora({
    text: message,
    stream: process.stderr,
    isEnabled: terminal,
    isSilent: !terminal,
    // It would put the terminal into raw mode, where Ctrl-C is only a character.
    discardStdin: false,
  });
  const timer = setTimeout(() => spinner.start(), 1_000);
  try {
    return await work({
      say(step) {
        if (terminal) spinner.text = step;
        else if (!quiet) process.stderr.write(`${step}\n`);
      },
    });
  } finally {
    clearTimeout(timer);
    spinner.stop();
  }
}
