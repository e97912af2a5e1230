import { command } from "../command.js";
import { parseDuration } from "../parse-flags.js";
import { withProgress } from "../progress.js";
import { sessionId } from "../session-args.js";

export default command({
  name: "session stop",
  description: "Stop a session and wait until it has; files stay, the next call resumes it",
  args: {
    ...sessionId,
    grace: {
      type: "string",
      valueHint: "duration",
      description: "Running calls may end by themselves (default 10s)",
    },
    "cancel-queued": { type: "boolean", description: "Cancel queued calls instead of resuming for them" },
    wait: {
      type: "boolean",
      default: true,
      description: "Wait until it has stopped",
      negativeDescription: "Return at once",
    },
  },
  async run({ args, report, client }) {
    const session = client().sessions.get(args.session);
    const graceMs = parseDuration(args.grace, "--grace");
    await withProgress(
      `Stopping session ${args.session}`,
      () => session.stop({ graceMs, cancelQueued: args["cancel-queued"], wait: args.wait }),
      { quiet: report.json },
    );
    const status = args.wait ? "stopped" : "stopping";
    report.result({ sessionId: args.session, status }, `Session ${args.session} is ${status}`);
    return 0;
  },
});
