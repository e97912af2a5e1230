import { createHash } from "node:crypto";
import { z } from "zod";
import type { CallEntry, Channel, RunRequest } from "../providers/channel.js";
import { abortable, neverAborted } from "./abortable.js";
import { frameLimits, protocolError } from "./guest-frames.js";
import type { GuestConnection } from "./guest-connection.js";
import { followCall } from "./guest-follow.js";
import { createGuestFiles, type GuestRoots } from "./guest-files.js";
import { collectData } from "./guest-data.js";

const runResultSchema = z.object({ state: z.enum(["started", "attached"]) });

const callLineSchema = z.object({
  callId: z.string(),
  state: z.enum(["claimed", "running", "ended", "acknowledged"]),
});

/** Call ids in one acknowledgement: far below a payload's limit with the longest ids. */
const maxAcknowledged = 1_000;

/** The channel of docker and msb: the provider interface's calls and files, spoken to a guest. */
export interface GuestChannel extends Channel {
  /** Ends all calls as stopped, waits for their records, flushes. The guest refuses new ones afterwards. */
  stopCalls(options: { graceMs: number }): Promise<void>;
  /** Hash of the guest's binary in this sandbox. */
  readonly build: string;
}

export function createGuestChannel(connection: GuestConnection, roots: GuestRoots): GuestChannel {
  const channel: GuestChannel = {
    get epoch() {
      return connection.hello.epoch;
    },
    get build() {
      return connection.hello.build;
    },
    get closed() {
      return connection.closed;
    },
    run: (request) => run(connection, request),
    follow: (callId, options) => followCall(connection, callId, options),
    async kill(callId, { graceMs, cause, signal = neverAborted() }) {
      await abortable(connection.request({ op: "kill", callId, graceMs, cause }).done, signal);
    },
    async acknowledge(callIds) {
      for (let first = 0; first < callIds.length; first += maxAcknowledged) {
        const part = callIds.slice(first, first + maxAcknowledged);
        await connection.request({ op: "ack" }, Buffer.from(JSON.stringify(part))).done;
      }
    },
    calls: () => listCalls(connection),
    async stopCalls({ graceMs }) {
      await connection.request({ op: "stop", graceMs }).done;
    },
    files: createGuestFiles(connection, roots),
    close: () => connection.close(),
  };
  return channel;
}

async function run(
  connection: GuestConnection,
  request: RunRequest,
): Promise<{ state: "started" | "attached" }> {
  const script = Buffer.from(request.script, "utf8");
  const env = Buffer.from(
    Object.entries(request.env)
      .map(([name, value]) => `${name}=${value}\0`)
      .join(""),
    "utf8",
  );
  const header = {
    op: "run",
    callId: request.callId,
    cwd: request.cwd,
    timeoutMs: request.timeoutMs,
    outputLimitBytes: request.outputLimitBytes,
    envBytes: env.length,
    sha256: createHash("sha256").update(script).digest("hex"),
  };
  // Nothing is awaited before the frame is written: a follow called right after this leaves behind it.
  const frame = await connection.request(header, Buffer.concat([env, script])).done;
  const result = runResultSchema.safeParse(frame.header);
  if (result.success) return { state: result.data.state };
  const error = protocolError("an answer to run says nothing about the call");
  connection.fail(error);
  throw error;
}

async function listCalls(connection: GuestConnection): Promise<CallEntry[]> {
  const { bytes } = await collectData(connection, { op: "calls" });
  const lines = bytes.toString("utf8").split("\n");
  return lines
    .filter((line) => line !== "")
    .map((line) => {
      const entry = callLineSchema.safeParse(parseJson(line));
      if (entry.success) return entry.data;
      const error = protocolError("a line of the list of calls can't be read");
      connection.fail(error);
      throw error;
    });
}

function parseJson(line: string): unknown {
  if (line.length > frameLimits.lineBytes) return undefined;
  try {
    return JSON.parse(line);
  } catch {
    // The schema refuses undefined, with our own words.
    return undefined;
  }
}
