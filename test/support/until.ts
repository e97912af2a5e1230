import { setTimeout as sleep } from "node:timers/promises";

/** Asks again and again until it holds; fails with the last error, or by saying that it never held. */
export async function until(holds: () => Promise<boolean> | boolean, withinMs = 30_000): Promise<void> {
  const deadline = Date.now() + withinMs;
  let last: unknown = new Error(`did not come true within ${withinMs} ms: ${holds.toString()}`);
  while (Date.now() < deadline) {
    try {
      if (await holds()) return;
    } catch (error) {
      last = error;
    }
    await sleep(100);
  }
  throw last;
}
