import { createHash } from "node:crypto";
import type { GuestConnection } from "./guest-connection.js";
import { frameLimits, protocolError, type Frame } from "./guest-frames.js";

/** Content under way to the guest at once. */
const windowBytes = 1024 * 1024;

/**
 * Streams a file's new content behind a write request. The guest replaces the file only when the end frame came
 * and its size and hash agree, so a sender that dies half-way changes nothing.
 */
export async function sendContent(
  connection: GuestConnection,
  header: Readonly<Record<string, unknown>>,
  content: AsyncIterable<Uint8Array>,
): Promise<Frame> {
  let creditBytes = windowBytes;
  let onCredit: (() => void) | undefined;
  // An early answer (a record of before, an error) means that nobody reads the rest.
  const answer = { came: false };
  const request = connection.request(header, undefined, (frame) => {
    const { type, credit } = frame.header;
    if (type !== "credit" || typeof credit !== "number" || !Number.isSafeInteger(credit) || credit < 0) {
      throw protocolError("something else than credit during a write");
    }
    creditBytes = Math.min(creditBytes + credit, windowBytes);
    onCredit?.();
  });
  const settle = (): void => {
    answer.came = true;
  };
  const answered = request.done.then(settle, settle);
  const hash = createHash("sha256");
  let sizeBytes = 0;
  try {
    for await (const chunk of content) {
      for (let start = 0; start < chunk.length && !answer.came;) {
        if (creditBytes === 0) {
          const moreCredit = new Promise<void>((resolve) => {
            onCredit = resolve;
          });
          await Promise.race([moreCredit, answered]);
          continue;
        }
        const lengthBytes = Math.min(creditBytes, frameLimits.dataBytes, chunk.length - start);
        const part = Buffer.from(chunk.buffer, chunk.byteOffset + start, lengthBytes);
        request.send({ type: "data" }, part);
        hash.update(part);
        start += part.length;
        sizeBytes += part.length;
        creditBytes -= part.length;
      }
      if (answer.came) break;
    }
  } catch (error) {
    // The source failed, not the sandbox: the guest forgets the half and the old content stays.
    request.send({ type: "abort" });
    await answered;
    throw error;
  }
  request.send({ type: "end", sizeBytes, sha256: hash.digest("hex") });
  return request.done;
}
