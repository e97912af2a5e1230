import { setTimeout as sleep } from "node:timers/promises";
import { Connection } from "@temporalio/client";
import type { ServerProcess } from "./server-process.js";

/** A dev server with a large database on a busy machine takes 20 s; one that needs a minute is stuck. */
const startTimeoutMs = 60_000;

/** Resolves when the namespaces can be used; throws when the server ends or is not ready in time. */
export async function waitUntilHealthy(options: {
  readonly address: string;
  readonly namespaces: readonly string[];
  readonly server: Pick<ServerProcess, "ended">;
  readonly signal?: AbortSignal | undefined;
}): Promise<void> {
  const state: { ended?: string } = {};
  void options.server.ended.then((how) => (state.ended = how));
  const connection = Connection.lazy({ address: options.address });
  const deadline = Date.now() + startTimeoutMs;
  let last: unknown;
  try {
    while (Date.now() < deadline) {
      options.signal?.throwIfAborted();
      if (state.ended !== undefined) throw new Error(state.ended);
      try {
        await connection.withDeadline(Date.now() + 2_000, async () => {
          for (const namespace of options.namespaces) {
            await connection.workflowService.describeNamespace({ namespace });
          }
        });
        return;
      } catch (error) {
        // Refused, unavailable, or the namespace is not registered yet: what a starting server says.
        last = error;
      }
      await sleep(100);
    }
    throw new Error(`it did not answer within ${startTimeoutMs / 1000} s (${String(last)})`);
  } finally {
    await connection.close();
  }
}
