import type { Readable, Writable } from "node:stream";

/** A byte stream to a guest: a child process that bridges its stdin and stdout into the sandbox. */
export interface GuestTransport {
  /** Towards the guest. */
  readonly input: Writable;
  /** From the guest. */
  readonly output: Readable;
  /** Resolves when the process is gone; never rejects. */
  readonly exited: Promise<TransportExit>;
  /** Ends the process at once. What runs in the sandbox doesn't notice. */
  destroy(): void;
}

export interface TransportExit {
  /** Undefined when it was killed or could not be started. */
  readonly exitCode: number | undefined;
  readonly signal: string | undefined;
  /** Why the process could not be started: a system error code. */
  readonly spawnError: string | undefined;
  /** The beginning of what it wrote, bounded. */
  readonly stderr: string;
}
