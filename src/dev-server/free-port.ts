import { createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

/** A port of this machine that nobody listens on now. Somebody may before it is used: callers try again. */
export function freePort(): Promise<number> {
  return listenOnce(0);
}

/**
 * Whether a chosen port can be had. A server that was just ended may need a moment to let go of it; asked before
 * the start, because whoever listens there would answer in our server's place and look healthy.
 */
export async function canListen(port: number, { patienceMs }: { patienceMs: number }): Promise<boolean> {
  const until = Date.now() + patienceMs;
  for (;;) {
    try {
      await listenOnce(port);
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EADDRINUSE") throw error;
      if (Date.now() > until) return false;
    }
    await sleep(100);
  }
}

async function listenOnce(port: number): Promise<number> {
  const server = createServer();
  try {
    return await new Promise<number>((resolve, reject) => {
      server.once("error", reject);
      server.listen(port, "127.0.0.1", () => {
        const address = server.address();
        if (address === null || typeof address === "string") reject(new Error("no port was given"));
        else resolve(address.port);
      });
    });
  } finally {
    await new Promise<void>((resolve) => {
      server.close(() => {
        resolve();
      });
    });
  }
}
