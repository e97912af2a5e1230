/** Bytes in one piece, for stores and file primitives, which take a stream. */
// eslint-disable-next-line @typescript-eslint/require-await -- they take an async iterable
export async function* oneChunk(bytes: Uint8Array): AsyncIterable<Uint8Array> {
  yield bytes;
}
