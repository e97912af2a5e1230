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

/** Runs one request with its deadline. Throws what the server or the connection said: judged first, then translated. */
export async function request<T>(
  { connection, seen }: ClientContext,
  send: () => Promise<T>,
  { deadlineMs = requestDeadlineMs, signal }: RequestOptions = {},
): Promise<T> {
  await seen();
  const inTime = (): Promise<T> => connection.withDeadline(Date.now() + deadlineMs, send);
  return await (signal === undefined ? inTime() : connection.withAbortSignal(signal, inTime));
}

export interface RequestOptions {
  readonly deadlineMs?: number;
  /** Ends the request at once. */
  readonly signal?: AbortSignal | undefined;
}

/** Runs one request of which nobody judges the error: whatever it throws is a `HoldfastError`. */
export async function ask<T>(
  context: ClientContext,
  what: string,
  send: () => Promise<T>,
  deadlineMs: number = requestDeadlineMs,
): Promise<T> {
  try {
    return await request(context, send, { deadlineMs });
  } catch (error) {
    throw translateError(error, { what, address: context.address, namespace: context.namespace });
  }
}

/**
 * For requests that a worker answers (queries) or the server alone. A worker that has to replay a long session
 * first needs seconds; without one the server itself would keep us for as long as we let it.
 */
const requestDeadlineMs = 15_000;
