import type { SecretSource } from "../contract/spec.js";
import { ProviderError } from "../providers/errors.js";
import { limits } from "../contract/names.js";
import { envEntryBytes } from "./environment.js";

/** How this host reads secrets. Both resolve to undefined when there is none. */
export interface SecretReaders {
  env(key: string): Promise<string | undefined>;
  /** `outside`: the host gives no file at that place, whether there is one or not. */
  file(key: string): Promise<Uint8Array | "outside" | undefined>;
}

/** Values of secrets by name, read when they are needed and kept nowhere. */
export type ResolveSecrets = (
  secrets: Readonly<Record<string, SecretSource>>,
) => Promise<Record<string, string>>;

/**
 * Reads secrets on the host. One newline at the end of a file is not part of the secret: editors put it there.
 * Errors name the secret and where it was looked for, never its value.
 */
export function createSecretResolver(readers: SecretReaders): ResolveSecrets {
  return async (secrets) => {
    const entries = Object.entries(secrets).map(async ([name, source]) => {
      const value = await read(readers, name, source);
      return [name, checked(name, value)] as const;
    });
    return Object.fromEntries(await Promise.all(entries));
  };
}

async function read(readers: SecretReaders, name: string, source: SecretSource): Promise<string> {
  const value = await readSource(readers, name, source);
  return value ?? missing(name, source);
}

async function readSource(
  readers: SecretReaders,
  name: string,
  source: SecretSource,
): Promise<string | undefined> {
  try {
    if (source.from === "env") return await readers.env(source.key);
    const bytes = await readers.file(source.key);
    if (bytes === undefined) return undefined;
    if (bytes === "outside") throw outside(name);
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes).replace(/\r?\n$/, "");
  } catch (error) {
    if (error instanceof ProviderError) throw error;
    // Not as cause either: a reader's error may quote what it read.
    throw new ProviderError("denied", `secret ${name} can't be read as text from ${describe(source)}`, {
      hint: "It must be UTF-8 text that the worker's user may read.",
      field: `secrets.${name}`,
    });
  }
}

function outside(name: string): ProviderError {
  return new ProviderError("denied", `secret ${name}: its file is not in the host's directory of secrets`, {
    hint: "Put it below `secrets` in the worker's state directory, or below HOLDFAST_SECRETS_DIR, and name it from there.",
    field: `secrets.${name}`,
  });
}

function missing(name: string, source: SecretSource): never {
  throw new ProviderError("not-found", `secret ${name} is not on this host: no ${describe(source)}`, {
    hint: "Set it where the worker runs, then send the call again under a new callId.",
    field: `secrets.${name}`,
  });
}

function checked(name: string, value: string): string {
  const field = `secrets.${name}`;
  if (value.includes("\0")) {
    throw new ProviderError("invalid-request", `secret ${name} contains NUL, which no variable can hold`, {
      field,
    });
  }
  if (envEntryBytes(name, value) > limits.envEntryBytes) {
    throw new ProviderError("too-large", `secret ${name} is too large for a variable`, {
      hint: `With its name it must be smaller than ${limits.envEntryBytes} bytes; upload it as a file instead.`,
      field,
    });
  }
  return value;
}

const describe = ({ from, key }: SecretSource): string =>
  from === "env" ? `environment variable ${key}` : `file ${key}`;
