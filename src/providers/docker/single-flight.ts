import { cancelled } from "./cancelled.js";

/**
 * Work done once for all who ask for the same key at the same time. Its failure is everybody's, except when the
 * one who did it was cancelled: then the next one does it.
 */
export function createSingleFlight<T>(): (
  key: string,
  request: { signal: AbortSignal; work: () => Promise<T> },
) => Promise<T> {
  const flights = new Map<string, { result: Promise<T>; signal: AbortSignal }>();
  return async (key, { signal, work }) => {
    for (;;) {
      if (signal.aborted) throw cancelled(key, signal);
      const flight = flights.get(key);
      if (flight === undefined) break;
      try {
        return await untilAborted(flight.result, signal);
      } catch (error) {
        if (!flight.signal.aborted) throw error;
      }
    }
    const result = work().finally(() => flights.delete(key));
    flights.set(key, { result, signal });
    return result;
  };
}

async function untilAborted<T>(result: Promise<T>, signal: AbortSignal): Promise<T> {
  let onAbort: (() => void) | undefined;
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => {
      reject(cancelled("waiting for the same work of another", signal));
    };
    signal.addEventListener("abort", onAbort, { once: true });
  });
  try {
    return await Promise.race([result, aborted]);
  } finally {
    if (onAbort !== undefined) signal.removeEventListener("abort", onAbort);
  }
}
