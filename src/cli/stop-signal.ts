/** Aborts at the first SIGINT or SIGTERM; the second ends the process at once, as people expect. */
export function stopSignal(onFirst: () => void): AbortSignal {
  const controller = new AbortController();
  for (const name of ["SIGINT", "SIGTERM"] as const) {
    process.on(name, () => {
      // Asked for twice: there is nothing more to wait for.
      if (controller.signal.aborted) process.exit(130);
      onFirst();
      controller.abort();
    });
  }
  return controller.signal;
}
