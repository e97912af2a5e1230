import { command } from "../command.js";
import { withProgress } from "../progress.js";
import { sessionId } from "../session-args.js";

export default command({
  name: "session resume",
  description: "Resume a stopped session and wait until it runs",
  args: {
    ...sessionId,
    wait: {
      type: "boolean",
      default: true,
      description: "Wait until it runs",
      negativeDescription: "Return at once",
    },
  },
  async run({ args, report, client }) {
    const session = client().sessions.get(args.session);
    await withProgress(`Resuming session ${args.session}`, () => session.resume({ wait: args.wait }), {
      quiet: report.json,
    });
    const status = args.wait ? "running" : "resuming";
    report.result({ sessionId: args.session, status }, `Session ${args.session} is ${status}`);
    return 0;
  },
});
