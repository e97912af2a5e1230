import type { ArtifactRef } from "../contract/refs.js";

/** Bytes too large for an answer or an input, by content. Shared by hosts and clients of one installation. */
export interface ArtifactStore {
  /** Streams bytes in; atomic: a reader sees all of it or nothing. The same bytes give the same key. */
  put(content: AsyncIterable<Uint8Array>, options?: { mimeType?: string }): Promise<ArtifactRef>;
  /** Streams bytes out, verified against size and hash: `not-found`, or `internal` when they don't match. */
  get(ref: ArtifactRef): AsyncIterable<Uint8Array>;
  /** The whole of a small one; `too-large` above `maxBytes`. */
  read(ref: ArtifactRef, options: { maxBytes: number }): Promise<Uint8Array>;
}
