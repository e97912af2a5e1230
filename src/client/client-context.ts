import type { Client, Connection } from "@temporalio/client";
import type { ArtifactStore } from "../artifacts/artifact-store.js";
import { translateError } from "./translate-error.js";

/** What every part of the client works with. */
export interface ClientContext {
  readonly temporal: Client;
  readonly connection: Connection;
  /** For messages. */
  readonly address: string;
  readonly namespace: string;
  readonly taskQueue: string;
  readonly artifacts: ArtifactStore | undefined;
  /** So long a call is retried while no server or no worker answers. */
  readonly patienceMs: number;
  /** Resolves when the server was seen once; rejects within seconds when nobody is there. */
  readonly seen: () => Promise<void>;
}

/** Runs one request with its deadline; whatever it throws is a `HoldfastError`. */
export async function ask<T>(
  context: ClientContext,
  what: string,
  request: () => Promise<T>,
  deadlineMs: number = requestDeadlineMs,
): Promise<T> {
  try {
    await context.seen();
    return await context.connection.withDeadline(Date.now() + deadlineMs, request);
  } catch (error) {
    throw translateError(error, { what, address: context.address, namespace: context.namespace });
  }
}

/**
 * For requests that a worker answers (queries) or the server alone. A worker that has to replay a long session
 * first needs seconds; without one the server itself would keep us for as long as we let it.
 */
const requestDeadlineMs = 15_000;
