import type { FileStat, Files } from "../providers/channel.js";
import { ProviderError } from "../providers/errors.js";

const chunkBytes = 256 * 1024;

export interface FileChunk {
  readonly bytes: Uint8Array;
  readonly stat: FileStat;
}

/** A whole file, piece by piece; at least one piece, which is empty when the file is. */
export async function* fileChunks(
  files: Files,
  path: string,
  signal: AbortSignal,
): AsyncGenerator<FileChunk, void> {
  for (let offset = 0; ;) {
    signal.throwIfAborted();
    const chunk = await files.read(path, { offset, lengthBytes: chunkBytes });
    yield chunk;
    offset += chunk.bytes.byteLength;
    if (chunk.bytes.byteLength === 0 || offset >= chunk.stat.sizeBytes) return;
  }
}

/** A whole file in memory; `too-large` above `maxBytes`. */
export async function wholeFile(
  files: Files,
  path: string,
  options: { maxBytes: number; signal: AbortSignal },
): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  let sizeBytes = 0;
  for await (const { bytes, stat } of fileChunks(files, path, options.signal)) {
    sizeBytes += bytes.byteLength;
    if (Math.max(sizeBytes, stat.sizeBytes) > options.maxBytes) {
      throw new ProviderError("too-large", `${path} has more than ${options.maxBytes} bytes`, {
        hint: "Change it with a command in the sandbox.",
      });
    }
    parts.push(bytes);
  }
  return Buffer.concat(parts);
}
