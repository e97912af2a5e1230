import { limits } from "../contract/names.js";
import { ProviderError } from "../providers/errors.js";

/** Size of one variable as a program gets it: name, "=", value and NUL. */
export const envEntryBytes = (name: string, value: string): number =>
  Buffer.byteLength(name) + Buffer.byteLength(value) + 2;

/** Refuses what Linux would refuse with a bare E2BIG. */
export function checkEnvironment(env: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(env)) {
    if (envEntryBytes(name, value) <= limits.envEntryBytes) continue;
    throw new ProviderError("too-large", `variable ${name} is too large`, {
      hint: `With its name it must be smaller than ${limits.envEntryBytes} bytes; write a file instead.`,
      field: `env.${name}`,
    });
  }
}
