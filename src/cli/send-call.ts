import { randomUUID } from "node:crypto";
import type { Session, SessionCall } from "../client/index.js";
import type { Answer } from "../contract/call.js";
import { parseDuration } from "./parse-flags.js";
import { withProgress } from "./progress.js";
import { Interrupted, type Reporter } from "./reporter.js";

/** Sends a call with a spinner; Ctrl-C ends the waiting and says how to go on, the call itself stays. */
export async function sendCall(options: {
  readonly session: Session;
  readonly tool: SessionCall["tool"];
  readonly input: SessionCall["input"];
  readonly args: { "call-id"?: string; timeout?: string; wait?: string };
  readonly report: Reporter;
}): Promise<Answer> {
  const { session, tool, input, args, report } = options;
  const callId = args["call-id"] ?? randomUUID();
  const timeoutMs = parseDuration(args.timeout, "--timeout");
  const waitMs = parseDuration(args.wait, "--wait");
  const interrupt = new AbortController();
  const onSignal = (): void => {
    interrupt.abort();
  };
  process.once("SIGINT", onSignal);
  try {
    const call = session.call({ callId, tool, input, timeoutMs, waitMs, signal: interrupt.signal });
    const interrupted = new Promise<never>((_resolve, reject) => {
      interrupt.signal.addEventListener("abort", () => {
        reject(
          new Interrupted(
            `The call goes on. Its answer: holdfast session call ${session.sessionId} --await ${callId}`,
          ),
        );
      });
    });
    return await withProgress(`Waiting for call ${callId}`, () => Promise.race([call, interrupted]), {
      quiet: report.json,
    });
  } finally {
    process.removeListener("SIGINT", onSignal);
  }
}
