import { GracefulShutdownPeriodExpiredError } from "@temporalio/worker";
import { HoldfastError } from "../client/index.js";

/** Of what a worker's run threw: undefined unless it was cut off. */
export function shutdownForced(error: unknown): HoldfastError | undefined {
  if (!(error instanceof GracefulShutdownPeriodExpiredError)) return undefined;
  return new HoldfastError(
    "internal",
    "The worker was cut off: something in it did not hear in time that it should stop.",
    {
      hint: "Sessions are kept, and the next worker of this host takes over. The log above may name what still ran.",
      cause: error,
    },
  );
}

/** Enough for the rest of an orderly end, such as the dev server's. */
const lastWordsMs = 15_000;

/** What did not hear the shutdown keeps the process alive as well: it ends with whatever exit code was set. */
export function endWithoutIt(): void {
  setTimeout(() => process.exit(), lastWordsMs).unref();
}
