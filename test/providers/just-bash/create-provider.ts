import { createJustBashProvider, type JustBashOptions } from "../../../src/providers/just-bash/provider.js";
import type { Provider } from "../../../src/providers/provider.js";

/** Threads run compiled code: the entry of the last build, as `npm test` makes it. */
const threadEntry = new URL("../../../dist/providers/just-bash/thread.js", import.meta.url);

export function createProvider(stateDir: string, changes: Partial<JustBashOptions> = {}): Promise<Provider> {
  return createJustBashProvider({ stateDir, hostId: "host-1", owner: "owner-1", threadEntry, ...changes });
}
