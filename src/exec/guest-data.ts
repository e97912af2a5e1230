import { ProviderError } from "../providers/errors.js";
import type { GuestConnection } from "./guest-connection.js";
import { protocolError, type Frame } from "./guest-frames.js";

/** Lists end here: the guest is asked for bounded ones, so more means a hostile guest. */
const maxDataBytes = 64 * 1024 * 1024;

/** A request whose answer comes as data frames and then a result. */
export async function collectData(
  connection: GuestConnection,
  header: Readonly<Record<string, unknown>>,
): Promise<{ bytes: Buffer; result: Frame["header"] }> {
  const parts: Buffer[] = [];
  let sizeBytes = 0;
  const { done } = connection.request(header, undefined, (frame) => {
    if (frame.header["type"] !== "data") throw protocolError("something else between data frames");
    sizeBytes += frame.payload.length;
    if (sizeBytes > maxDataBytes) {
      throw new ProviderError("too-large", "the sandbox's guest sent more than it was asked for");
    }
    parts.push(frame.payload);
  });
  const { header: result } = await done;
  return { bytes: Buffer.concat(parts), result };
}
