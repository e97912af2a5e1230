import { randomUUID } from "node:crypto";
import type { CallEnd, Channel } from "../../src/providers/channel.js";

export interface CommandResult {
  readonly end: CallEnd;
  readonly stdout: string;
  readonly stderr: string;
  readonly callId: string;
}

export interface CommandOptions {
  readonly callId?: string;
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly timeoutMs?: number;
  readonly outputLimitBytes?: number;
}

/** Runs a script through a channel to its end and collects its output. */
export async function runCommand(
  channel: Channel,
  script: string,
  options: CommandOptions = {},
): Promise<CommandResult> {
  const callId = options.callId ?? randomUUID();
  const { done, started } = startCommand(channel, script, { ...options, callId });
  await started;
  return done;
}

/** The same in two steps: `started` when the sandbox has it, `done` with its end. */
export function startCommand(
  channel: Channel,
  script: string,
  options: CommandOptions & { callId: string },
): { started: Promise<unknown>; done: Promise<CommandResult> } {
  const { callId, cwd = "/workspace", env = {}, timeoutMs = 30_000, outputLimitBytes = 1024 ** 3 } = options;
  const started = channel.run({ callId, script, cwd, env, timeoutMs, outputLimitBytes });
  const done = followToEnd(channel, callId);
  // Whoever only waits for one of the two must not be ended by the other.
  started.catch(() => undefined);
  done.catch(() => undefined);
  return { started, done };
}

export async function followToEnd(channel: Channel, callId: string): Promise<CommandResult> {
  const parts: Record<"stdout" | "stderr", Uint8Array[]> = { stdout: [], stderr: [] };
  const end = await channel.follow(callId, {
    from: { stdout: 0, stderr: 0 },
    signal: new AbortController().signal,
    onOutput: (stream, bytes) => {
      parts[stream].push(bytes);
    },
  });
  const text = (stream: "stdout" | "stderr"): string => Buffer.concat(parts[stream]).toString("utf8");
  return { end, stdout: text("stdout"), stderr: text("stderr"), callId };
}
