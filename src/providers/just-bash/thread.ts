// First of all: just-bash makes its codecs when it is loaded.
import "./keep-bytes.js";
import { parentPort } from "node:worker_threads";
import { Bash } from "just-bash";
import { bytePrintf, interruptibleSleep, withoutWindDown } from "./own-commands.js";
import { stderrBytes, stdoutBytes } from "./output-bytes.js";
import { createSandboxFs } from "./sandbox-fs.js";
import type { ThreadMessage, ThreadRequest, WindDown } from "./thread-protocol.js";

/**
 * Entry of a worker thread: runs one script at a time for its session. The thread may be terminated at any
 * moment; whatever has to survive that is written by its parent.
 */

const port = parentPort;
if (port === null) throw new Error("this module runs as a worker thread only");

const unlimited = Number.MAX_SAFE_INTEGER;

let windDown = (): void => undefined;

port.on("message", (message: ThreadRequest | WindDown) => {
  if ("type" in message) windDown();
  else void execute(message);
});
post({ type: "ready" });

async function execute(request: ThreadRequest): Promise<void> {
  try {
    post(await run(request));
  } catch (error) {
    post({ type: "failed", message: error instanceof Error ? error.message : String(error) });
  }
}

async function run(request: ThreadRequest): Promise<ThreadMessage> {
  // Before anything is awaited: a wind-down may come at once.
  const woundDown = new Promise<"wound-down">((resolve) => {
    windDown = () => {
      resolve("wound-down");
    };
  });
  const fs = createSandboxFs(request.root);
  if (!(await isDirectory(request.cwd))) return { type: "refused", reason: "cwd-missing" };
  const raw = { stdout: "", stderr: "" };
  const keep = (stream: string, data?: Record<string, unknown>): void => {
    const output = data?.output;
    if (typeof output === "string" && (stream === "stdout" || stream === "stderr")) raw[stream] = output;
  };
  const bash = new Bash({
    fs,
    // The log tells the output as it is; in the result it has been through a guess at its encoding.
    logger: { debug: keep, info: keep },
    cwd: request.cwd,
    env: request.env,
    ...(request.network === "allow-all"
      ? // The worker's own network is not the session's: its private addresses stay out of reach.
        { network: { dangerouslyAllowFullInternetAccess: true, denyPrivateRanges: true } }
      : {}),
    customCommands: [interruptibleSleep(woundDown), bytePrintf()],
    executionLimits: {
      // Time and memory are bounded from outside, by ending the thread; counts would end honest long loops.
      maxCommandCount: unlimited,
      maxLoopIterations: unlimited,
      maxAwkIterations: unlimited,
      maxSedIterations: unlimited,
      maxJqIterations: unlimited,
      // One less than what the wind-down asks for, so that it always exceeds it.
      maxWorkUnits: unlimited - 1,
      maxOutputSize: request.maxOutputBytes,
      maxExecutionTimeMs: request.maxTimeMs,
    },
  });
  const result = await bash.exec(request.script, { rawScript: true });
  return {
    type: "ended",
    stdout: stdoutBytes(raw.stdout),
    stderr: stderrBytes(withoutWindDown(raw.stderr)),
    exitCode: result.exitCode,
  };

  async function isDirectory(path: string): Promise<boolean> {
    try {
      return (await fs.stat(path)).isDirectory;
    } catch {
      // Missing, unreachable or leading out of the sandbox: to the command all the same, there is no such cwd.
      return false;
    }
  }
}

function post(message: ThreadMessage): void {
  const transfer = message.type === "ended" ? [message.stdout.buffer, message.stderr.buffer] : [];
  port?.postMessage(message, transfer);
}
