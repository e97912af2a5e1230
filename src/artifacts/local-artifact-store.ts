import { createHash, randomUUID } from "node:crypto";
import { constants } from "node:fs";
import { mkdir, open, rename, rm, type FileHandle } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { ArtifactRef } from "../contract/refs.js";
import { ProviderError } from "../providers/errors.js";
import type { ArtifactStore } from "./artifact-store.js";
import { removeAbandoned } from "./remove-abandoned.js";
import { storeError } from "./store-error.js";

const chunkBytes = 256 * 1024;

/**
 * Artifact store in a local (or shared) directory: `sha256/ab/<hash>` under it, and `tmp/` for what is being
 * written. A put that dies leaves a file in `tmp/` that no reader ever looks at; a later process
 * removes it when it is a week old.
 */
export function createLocalArtifactStore({ directory }: { directory: string }): ArtifactStore {
  let isTidied = false;
  return {
    put: (content, options = {}) => {
      if (!isTidied) void removeAbandoned(join(directory, "tmp"));
      isTidied = true;
      return put(directory, content, options.mimeType);
    },
    get: (ref) => get(directory, ref),
    read: async (ref, { maxBytes }) => {
      if (ref.sizeBytes > maxBytes) throw tooLarge(ref, maxBytes);
      const chunks: Uint8Array[] = [];
      for await (const chunk of get(directory, ref)) chunks.push(chunk);
      return Buffer.concat(chunks);
    },
  };
}

/** The one key that content with this hash has. */
export const artifactKey = (sha256: string): string => `sha256/${sha256.slice(0, 2)}/${sha256}`;

async function put(
  directory: string,
  content: AsyncIterable<Uint8Array>,
  mimeType: string | undefined,
): Promise<ArtifactRef> {
  const temporary = join(directory, "tmp", randomUUID());
  const file = await attempt("open a temporary file", async () => {
    await mkdir(dirname(temporary), { recursive: true, mode: 0o700 });
    return open(temporary, "wx", 0o600);
  });
  try {
    const { sha256, sizeBytes } = await writeAll(file, content);
    const target = join(directory, artifactKey(sha256));
    await attempt("store the content", async () => {
      await mkdir(dirname(target), { recursive: true, mode: 0o700 });
      // Replaces what is there: the same bytes, or a damaged file that is whole again from now on.
      await rename(temporary, target);
    });
    return {
      key: artifactKey(sha256),
      sha256,
      sizeBytes,
      ...(mimeType === undefined ? {} : { mimeType }),
    };
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => {
      // The first error is the one to tell; a left temporary file harms nobody.
    });
    throw error;
  }
}

async function writeAll(file: FileHandle, content: AsyncIterable<Uint8Array>) {
  const hash = createHash("sha256");
  let sizeBytes = 0;
  try {
    for await (const chunk of content) {
      hash.update(chunk);
      sizeBytes += chunk.byteLength;
      await attempt("write the content", () => file.writeFile(chunk));
    }
  } finally {
    await file.close();
  }
  return { sha256: hash.digest("hex"), sizeBytes };
}

async function* get(directory: string, ref: ArtifactRef): AsyncGenerator<Uint8Array> {
  // The key is never trusted as a path: it must be the one its hash implies.
  if (!/^[0-9a-f]{64}$/.test(ref.sha256) || ref.key !== artifactKey(ref.sha256)) {
    throw new ProviderError("invalid-request", `artifact reference ${ref.key} does not match its sha256`, {
      hint: "Send the reference exactly as the artifact store returned it.",
    });
  }
  const path = join(directory, ref.key);
  const file = await attempt(`open artifact ${ref.key}`, () =>
    open(path, constants.O_RDONLY | constants.O_NOFOLLOW),
  );
  try {
    const { size } = await file.stat();
    if (size !== ref.sizeBytes) throw mismatch(ref, `${size} bytes instead of ${ref.sizeBytes}`);
    const hash = createHash("sha256");
    for (;;) {
      const { bytesRead, buffer } = await attempt(`read artifact ${ref.key}`, () =>
        file.read(Buffer.allocUnsafe(chunkBytes), 0, chunkBytes),
      );
      if (bytesRead === 0) break;
      const chunk = buffer.subarray(0, bytesRead);
      hash.update(chunk);
      yield chunk;
    }
    if (hash.digest("hex") !== ref.sha256) throw mismatch(ref, "its hash is another");
  } finally {
    await file.close();
  }
}

async function attempt<T>(what: string, action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (error) {
    throw storeError(what, error);
  }
}

function mismatch(ref: ArtifactRef, how: string): ProviderError {
  return new ProviderError("internal", `artifact ${ref.key} is damaged: ${how}`, {
    hint: "Put the content again: a put replaces the damaged file.",
  });
}

function tooLarge(ref: ArtifactRef, maxBytes: number): ProviderError {
  return new ProviderError(
    "too-large",
    `artifact ${ref.key} has ${ref.sizeBytes} bytes; at most ${maxBytes} can be used here`,
  );
}
