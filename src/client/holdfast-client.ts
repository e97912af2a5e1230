import { Client, Connection, type ConnectionOptions } from "@temporalio/client";
import type { ArtifactStore } from "../artifacts/artifact-store.js";
import { createLocalArtifactStore } from "../artifacts/local-artifact-store.js";
import { defaultTaskQueue } from "../contract/names.js";
import { ask, type ClientContext } from "./client-context.js";
import { isTransient, noServer } from "./translate-error.js";
import { createSessions, type Sessions } from "./sessions.js";

export interface HoldfastClientOptions extends Pick<ConnectionOptions, "tls" | "apiKey" | "metadata"> {
  /** An open connection, which stays the caller's: `close` leaves it open. */
  readonly connection?: Connection;
  /** host:port, when no connection is given. Default 127.0.0.1:7233. */
  readonly address?: string;
  /** Default `default`. */
  readonly namespace?: string;
  /** The workers' shared queue. Default `holdfast`. */
  readonly taskQueue?: string;
  /** The artifact store of the installation, or its directory. Without one, inputs above 32 KB are refused. */
  readonly artifacts?: ArtifactStore | string;
  /** How long calls are retried while no server or no worker answers. Default 120,000. */
  readonly patienceMs?: number;
}

export interface ServerFacts {
  readonly address: string;
  readonly serverVersion: string;
  readonly namespace: string;
  readonly namespaceId: string;
  /** Workers seen on the shared queue in the last minutes. */
  readonly workers: number;
}

export interface HoldfastClient {
  readonly sessions: Sessions;
  readonly artifacts: ArtifactStore | undefined;
  /** Who answers. Throws `unavailable` or `not-found` (the namespace), each with what to do. */
  server(): Promise<ServerFacts>;
  close(): Promise<void>;
}

/** Opens no connection yet: the first request does, and says so when nobody is there. */
export function createHoldfastClient(options: HoldfastClientOptions = {}): HoldfastClient {
  const { address = "127.0.0.1:7233", namespace = "default", artifacts } = options;
  const connection = options.connection ?? Connection.lazy({ ...connectionOptions(options), address });
  const store =
    typeof artifacts === "string" ? createLocalArtifactStore({ directory: artifacts }) : artifacts;
  const context: ClientContext = {
    temporal: new Client({ connection, namespace }),
    connection,
    address: connection.options.address,
    namespace,
    taskQueue: options.taskQueue ?? defaultTaskQueue,
    artifacts: store,
    patienceMs: options.patienceMs ?? 120_000,
    seen: rememberSuccess(() => greet(connection)),
  };
  return {
    sessions: createSessions(context),
    artifacts: store,
    server: () =>
      ask(context, "ask the server for its name", async () => {
        const { workflowService } = connection;
        const { serverVersion } = await workflowService.getSystemInfo({});
        const described = await workflowService.describeNamespace({ namespace });
        const queue = await workflowService.describeTaskQueue({
          namespace,
          taskQueue: { name: context.taskQueue },
        });
        return {
          address: context.address,
          serverVersion,
          namespace,
          namespaceId: described.namespaceInfo?.id ?? "",
          workers: queue.pollers.length,
        };
      }),
    async close() {
      if (options.connection === undefined) await connection.close();
    },
  };
}

function connectionOptions(options: HoldfastClientOptions): ConnectionOptions {
  return {
    ...(options.tls === undefined ? {} : { tls: options.tls }),
    ...(options.apiKey === undefined ? {} : { apiKey: options.apiKey }),
    ...(options.metadata === undefined ? {} : { metadata: options.metadata }),
  };
}

/**
 * The SDK retries `unavailable` for a minute, which is right once a server was seen and wrong for a mistyped
 * address. A TLS handshake over a slow line needs a second or two.
 */
const firstContactMs = 5_000;

async function greet(connection: Connection): Promise<void> {
  try {
    await connection.withDeadline(Date.now() + firstContactMs, () =>
      connection.workflowService.getSystemInfo({}),
    );
  } catch (error) {
    throw isTransient(error) ? noServer(connection.options.address, error) : error;
  }
}

function rememberSuccess(attempt: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined;
  return () => {
    done ??= attempt().catch((error: unknown) => {
      done = undefined;
      throw error;
    });
    return done;
  };
}
