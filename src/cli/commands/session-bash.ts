import { omittedNote, outcomeNote, textBytes, textsOf } from "../answer-text.js";
import { command } from "../command.js";
import { exitCodeOfAnswer } from "../exit-codes.js";
import { parsePairs } from "../parse-flags.js";
import { sendCall } from "../send-call.js";
import { callArgs, sessionId } from "../session-args.js";

export default command({
  name: "session bash",
  description: "Run a command in a session; its output and exit code are passed through",
  args: {
    ...sessionId,
    command: { type: "positional", description: "Bash script, quoted", required: true },
    cwd: { type: "string", valueHint: "path", description: "Directory (default: the workspace)" },
    env: { type: "string", valueHint: "NAME=value,...", description: "Variables of this command" },
    ...callArgs,
  },
  async run({ args, report, client }) {
    const env = parsePairs(args.env, "--env");
    const answer = await sendCall({
      session: client().sessions.get(args.session),
      tool: "bash",
      input: {
        command: args.command,
        ...(args.cwd === undefined ? {} : { cwd: args.cwd }),
        ...(env === undefined ? {} : { env }),
      },
      args,
      report,
    });
    if (report.json) {
      report.result(answer, "");
      return exitCodeOfAnswer(answer);
    }
    const { stdout, stderr } = textsOf(answer.result);
    if (stdout !== undefined) report.bytes(textBytes(stdout));
    if (stderr !== undefined) process.stderr.write(textBytes(stderr));
    const notes = [
      stdout && omittedNote("stdout", stdout),
      stderr && omittedNote("stderr", stderr),
      outcomeNote(answer.outcome),
      answer.outcome === undefined
        ? `Still ${answer.status}. Its answer: holdfast session call ${args.session} --await ${answer.callId}`
        : undefined,
    ];
    for (const note of notes) if (note !== undefined) report.note(`holdfast: ${note}`);
    return exitCodeOfAnswer(answer);
  },
});
