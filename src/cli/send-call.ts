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
    return await withProgress(
      `Waiting for call ${callId}`,
      () => session.call({ callId, tool, input, timeoutMs, waitMs, signal: interrupt.signal }),
      { quiet: report.json },
    );
  } catch (error) {
    if (!interrupt.signal.aborted) throw error;
    const next = `holdfast session call ${session.sessionId} --await ${callId}`;
    throw new Interrupted(`A call that was sent goes on. Its answer: ${next}`);
  } finally {
    process.removeListener("SIGINT", onSignal);
  }
}
