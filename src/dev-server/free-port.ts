import { createServer } from "node:net";

/** A port of this machine that nobody listens on now. Somebody may before it is used: callers try again. */
export async function freePort(): Promise<number> {
  const server = createServer();
  try {
    return await new Promise<number>((resolve, reject) => {
      server.once("error", reject);
      server.listen(0, "127.0.0.1", () => {
        const address = server.address();
        if (address === null || typeof address === "string") reject(new Error("no port was given"));
        else resolve(address.port);
      });
    });
  } finally {
    server.close();
  }
}
