import { HoldfastError } from "../../client/index.js";
import type { Answer } from "../../contract/call.js";
import { toolNames } from "../../contract/names.js";
import { omittedNote, outcomeNote, textBytes, textsOf } from "../answer-text.js";
import { command } from "../command.js";
import { exitCodeOfAnswer } from "../exit-codes.js";
import { parseDuration, parseJson, readStdin } from "../parse-flags.js";
import { withProgress } from "../progress.js";
import type { Reporter } from "../reporter.js";
import { sendCall } from "../send-call.js";
import { callArgs, sessionId } from "../session-args.js";

export default command({
  name: "session call",
  description: "Call any tool of a session, or wait for a call that was sent before",
  args: {
    ...sessionId,
    tool: { type: "positional", description: toolNames.join(", "), required: false },
    input: { type: "positional", description: "Tool input as JSON, - for stdin", required: false },
    await: { type: "string", valueHint: "callId", description: "Wait for this call and send nothing" },
    cancel: { type: "string", valueHint: "callId", description: "Cancel this call and send nothing" },
    ...callArgs,
  },
  async run({ args, report, client }) {
    const session = client().sessions.get(args.session);
    const { tool, input = "{}" } = args;
    if (args.cancel !== undefined) {
      await session.cancelCall(args.cancel);
      report.result({ accepted: true, callId: args.cancel }, `Asked for the end of call ${args.cancel}`);
      return 0;
    }
    if (args.await !== undefined) {
      const callId = args.await;
      const waitMs = parseDuration(args.wait, "--wait");
      const answer = await withProgress(
        `Waiting for call ${callId}`,
        () => session.awaitCall(callId, { waitMs }),
        {
          quiet: report.json,
        },
      );
      return print(answer, report);
    }
    if (tool === undefined) {
      throw new HoldfastError("invalid-request", "session call: no tool is named.", {
        field: "tool",
        hint: `Name one of ${toolNames.join(", ")}, e.g. holdfast session call ${args.session} ls '{"path":"."}'`,
      });
    }
    const parsed = parseJson(input === "-" ? (await readStdin()).toString("utf8") : input, "input");
    const call = {
      session,
      tool: tool as (typeof toolNames)[number],
      input: parsed as Record<string, unknown>,
    };
    return print(await sendCall({ ...call, args, report }), report);
  },
});

/** For people: the text of the result when it has one, else the result as JSON; a failure says so by its note. */
function print(answer: Answer, report: Reporter): number {
  const texts = Object.entries(textsOf(answer.result));
  if (report.json) report.result(answer, "");
  else if (texts.length > 0) for (const [, text] of texts) report.bytes(textBytes(text));
  else if (answer.result !== undefined) report.result(answer, JSON.stringify(answer.result, null, 2));
  else if (answer.outcome === undefined) report.result(answer, `Call ${answer.callId} is ${answer.status}`);
  const notes = [...texts.map(([name, text]) => omittedNote(name, text)), outcomeNote(answer.outcome)];
  for (const note of notes) if (note !== undefined) report.note(`holdfast: ${note}`);
  return exitCodeOfAnswer(answer);
}
