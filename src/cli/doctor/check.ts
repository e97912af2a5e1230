import type { HoldfastClient } from "../../client/index.js";
import type { HoldfastConfig } from "../../config.js";

/** `warning`: only something that need not be used is missing. */
export interface Check {
  readonly name: string;
  readonly status: "ok" | "warning" | "problem";
  readonly detail: string;
  /** What to do. */
  readonly hint?: string;
}

export interface CheckContext {
  readonly config: HoldfastConfig;
  readonly client: HoldfastClient;
}
