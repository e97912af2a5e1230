import type { Provider } from "./provider.js";
import { ProviderError } from "./errors.js";

/** The providers of one worker, by name. */
export interface ProviderRegistry {
  readonly names: readonly string[];
  /** Throws `unsupported`, naming what this host has. */
  get(name: string): Provider;
  /** Ends what the providers hold in this process. Sandboxes stay. */
  close(): Promise<void>;
}

export function createProviderRegistry(providers: readonly Provider[]): ProviderRegistry {
  const byName = new Map<string, Provider>(providers.map((provider) => [provider.name, provider]));
  if (byName.size !== providers.length) {
    throw new ProviderError("invalid-request", "two providers of one name were registered", {
      hint: "Register each provider once.",
    });
  }
  const names = [...byName.keys()];
  return {
    names,
    get(name) {
      const provider = byName.get(name);
      if (provider !== undefined) return provider;
      const has = names.length === 0 ? "no provider at all" : names.join(", ");
      throw new ProviderError("unsupported", `provider ${JSON.stringify(name)}: this host has ${has}`, {
        field: "spec.provider",
        hint: "Use one of these, or start a worker that has the provider.",
      });
    },
    async close() {
      await Promise.all(providers.map((provider) => provider.close()));
    },
  };
}
