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
  const terminal = process.stderr.isTTY && !quiet;
  const spinner = ora({ text: message, stream: process.stderr, isEnabled: terminal, isSilent: !terminal });
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
