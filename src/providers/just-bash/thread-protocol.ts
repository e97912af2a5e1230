/** What the provider and a thread say to each other. Bytes are moved, not copied. */
export interface ThreadRequest {
  readonly root: string;
  readonly script: string;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly network: "deny-all" | "allow-all";
  /** Of both streams together; the interpreter gives up beyond. */
  readonly maxOutputBytes: number;
  readonly maxTimeMs: number;
}

export type ThreadMessage =
  | { readonly type: "ready" }
  | { readonly type: "refused"; readonly reason: "cwd-missing" }
  | {
      readonly type: "ended";
      readonly stdout: Uint8Array<ArrayBuffer>;
      readonly stderr: Uint8Array<ArrayBuffer>;
      readonly exitCode: number;
    }
  | { readonly type: "failed"; readonly message: string };

/** Ends the script at its next chance, so that what it printed is not lost; the thread is terminated a little later. */
export interface WindDown {
  readonly type: "wind-down";
}
