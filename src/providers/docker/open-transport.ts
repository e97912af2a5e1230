import { execa } from "execa";
import type { GuestTransport } from "../../exec/guest-transport.js";
import { killGroup } from "./kill-group.js";

/** The client's own complaints are short; a guest or image that floods stderr is cut off here. */
const maxStderrBytes = 64 * 1024;

/** Starts a CLI whose stdin and stdout are a connection, without a deadline: it lives as long as its channel. */
export function openTransport(
  command: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
): GuestTransport {
  const child = execa(command, args, {
    env: { ...environment },
    extendEnv: false,
    detached: true,
    reject: false,
    stdin: "pipe",
    stdout: "pipe",
    stderr: "pipe",
    // The channel reads stdout itself; buffering it here would keep a whole session's output.
    buffer: { stdout: false, stderr: false },
  });

  let stderr = "";
  child.stderr.on("data", (chunk: Buffer) => {
    if (stderr.length < maxStderrBytes) stderr += chunk.toString("utf8");
  });
  return {
    input: child.stdin,
    output: child.stdout,
    exited: child.then((result) => ({
      exitCode: result.exitCode,
      signal: result.signal,
      spawnError: result.code,
      stderr: stderr.slice(0, maxStderrBytes),
    })),
    destroy: () => {
      killGroup(child.pid, "SIGKILL");
    },
  };
}
