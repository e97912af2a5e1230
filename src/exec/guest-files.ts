import { z } from "zod";
import type { DirectoryEntry, Files, FileStat, WriteOptions } from "../providers/channel.js";
import type { GuestConnection } from "./guest-connection.js";
import { collectData } from "./guest-data.js";
import { protocolError, type Frame } from "./guest-frames.js";
import { sendContent } from "./guest-write.js";

/** Directories that file primitives are confined to. Absolute paths in the sandbox. */
export interface GuestRoots {
  readonly workspace: string;
  /** Written as root, so that commands can't change what was uploaded. */
  readonly uploads: string;
  readonly outputs: string;
}

/** What the guest gives in one read. */
const maxReadBytes = 1024 * 1024;

const statSchema = z.object({
  type: z.enum(["dir", "file", "link", "other"]),
  sizeBytes: z.number().int().min(0),
  mode: z.number().int(),
  modifiedAtMs: z.number(),
});
const writtenSchema = z.object({ created: z.boolean(), sizeBytes: z.number().int().min(0) });
const recordSchema = writtenSchema.extend({ result: z.unknown() });

export function createGuestFiles(connection: GuestConnection, roots: GuestRoots): Files {
  const at = (path: string): Record<string, unknown> => ({
    path,
    roots: [roots.workspace, roots.uploads, roots.outputs],
  });
  const changing = (path: string): Record<string, unknown> =>
    isWithin(path, roots.uploads) ? { ...at(path), as: "root" } : at(path);

  const checked = <T>(schema: z.ZodType<T>, value: unknown): T => {
    const parsed = schema.safeParse(value);
    if (parsed.success) return parsed.data;
    const error = protocolError("an answer of the file primitives can't be read");
    connection.fail(error);
    throw error;
  };

  return {
    async read(path, range) {
      const parts: Buffer[] = [];
      let stat: FileStat | undefined;
      let missingBytes = range.lengthBytes;
      do {
        const lengthBytes = Math.min(missingBytes, maxReadBytes);
        const offset = range.offset + range.lengthBytes - missingBytes;
        const frame = await connection.request({ op: "read", ...at(path), offset, lengthBytes }).done;
        stat = checked(statSchema, frame.header["stat"]);
        parts.push(checkedLength(frame, lengthBytes));
        missingBytes -= frame.payload.length;
        if (frame.payload.length < lengthBytes) break;
      } while (missingBytes > 0);
      return { bytes: Buffer.concat(parts), stat };
    },

    async write(path, content, options) {
      const header = { op: "write", ...changing(path), ...writeFields(options) };
      const frame = await sendContent(connection, header, content);
      return checked(writtenSchema, frame.header);
    },

    async recorded(callId, requestHash) {
      const frame = await connection.request({ op: "recorded", callId, requestHash }).done;
      const { record } = frame.header;
      return record === null || record === undefined ? undefined : checked(recordSchema, record);
    },

    async stat(path) {
      const frame = await connection.request({ op: "stat", ...at(path) }).done;
      const { stat } = frame.header;
      return stat === null || stat === undefined ? undefined : checked(statSchema, stat);
    },

    async list(path, { maxEntries }) {
      const { bytes, result } = await collectData(connection, { op: "list", ...at(path), maxEntries });
      return { entries: parseEntries(bytes), truncated: result["truncated"] === true };
    },

    async remove(path, options) {
      await connection.request({ op: "remove", ...changing(path), ...options }).done;
    },
  };

  function checkedLength(frame: Frame, mostBytes: number): Buffer {
    if (frame.payload.length <= mostBytes) return frame.payload;
    const error = protocolError("more bytes than were asked for");
    connection.fail(error);
    throw error;
  }

  function parseEntries(bytes: Buffer): DirectoryEntry[] {
    const entries: DirectoryEntry[] = [];
    for (let start = 0; start < bytes.length;) {
      const end = bytes.indexOf(0, start);
      const space = bytes.indexOf(0x20, start);
      const type = entryTypes.get(String.fromCharCode(bytes[start] ?? 0));
      const sizeBytes = Number(bytes.subarray(start + 1, space).toString("latin1"));
      if (
        end === -1 ||
        space === -1 ||
        space >= end ||
        type === undefined ||
        !Number.isSafeInteger(sizeBytes)
      ) {
        const error = protocolError("a directory entry can't be read");
        connection.fail(error);
        throw error;
      }
      entries.push({ type, sizeBytes, name: bytes.subarray(space + 1, end) });
      start = end + 1;
    }
    return entries;
  }
}

const entryTypes: ReadonlyMap<string, FileStat["type"]> = new Map([
  ["d", "dir"],
  ["f", "file"],
  ["l", "link"],
  ["o", "other"],
]);

function writeFields(options: WriteOptions): Record<string, unknown> {
  return {
    ...(options.mode === undefined ? {} : { mode: options.mode }),
    ...(options.record === undefined ? {} : { record: options.record }),
  };
}

/** By text alone, to choose who acts; where the path really leads is settled by the guest. */
function isWithin(path: string, directory: string): boolean {
  return path === directory || path.startsWith(`${directory}/`);
}
