import { ProviderError } from "../providers/errors.js";

/** Timers can't hold more; a longer one would fire at once. */
export const longestTimerMs = 2 ** 31 - 1;

/** The promise's result, or the signal's reason as soon as it aborts. What the promise does later is ignored. */
export async function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const onAbort = () => {
      reject(signal.reason as Error);
    };
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    promise.then(resolve, reject).finally(() => {
      signal.removeEventListener("abort", onAbort);
    });
  });
}

/** The signal of work that nobody may interrupt: undoing, for example. */
export const neverAborted = (): AbortSignal => new AbortController().signal;

/** A signal that aborts with `reason` after a time, unless it is cleared before. */
export function startDeadline(timeoutMs: number, reason: Error): { signal: AbortSignal; clear(): void } {
  const controller = new AbortController();
  const timer = setTimeout(
    () => {
      controller.abort(reason);
    },
    Math.min(timeoutMs, longestTimerMs),
  );
  return {
    signal: controller.signal,
    clear() {
      clearTimeout(timer);
    },
  };
}

/** Runs `work` for at most `timeoutMs`; then its signal aborts and the result is `unavailable`. */
export async function bounded<T>(
  options: { what: string; timeoutMs: number; signal: AbortSignal },
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { what, timeoutMs } = options;
  const late = new ProviderError("unavailable", `${what} did not answer within ${timeoutMs} ms`);
  const deadline = startDeadline(timeoutMs, late);
  const signal = AbortSignal.any([options.signal, deadline.signal]);
  try {
    signal.throwIfAborted();
    return await abortable(work(signal), signal);
  } finally {
    deadline.clear();
  }
}
