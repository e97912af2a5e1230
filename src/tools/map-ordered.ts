/** Maps several items at once and yields the results in order. Stops taking items when its reader stops. */
export async function* mapOrdered<T, R>(
  items: AsyncIterable<T>,
  concurrency: number,
  map: (item: T) => Promise<R>,
): AsyncGenerator<R, void> {
  const started: Promise<R>[] = [];
  for await (const item of items) {
    const result = map(item);
    // Reported when its turn comes; if that never comes, it is of no interest.
    result.catch(() => undefined);
    started.push(result);
    const first = started.length === concurrency ? started.shift() : undefined;
    if (first !== undefined) yield await first;
  }
  for (const result of started) yield await result;
}
