import { command } from "../command.js";
import { withProgress } from "../progress.js";
import { sessionId } from "../session-args.js";

export default command({
  name: "session delete",
  description: "Delete a session with all its files and wait until nothing is left",
  args: {
    ...sessionId,
    wait: {
      type: "boolean",
      default: true,
      description: "Wait for the end",
      negativeDescription: "Return at once",
    },
  },
  async run({ args, report, client }) {
    const session = client().sessions.get(args.session);
    const summary = await withProgress(
      `Deleting session ${args.session}`,
      () => session.delete({ wait: args.wait }),
      { quiet: report.json },
    );
    if (summary === undefined) {
      report.result(
        { sessionId: args.session, status: "deleting" },
        `Session ${args.session} is being deleted`,
      );
      return 0;
    }
    const left =
      summary.cleanup === "done" ? "nothing is left of it" : "its host was away: the reaper removes the rest";
    report.result(summary, `Session ${args.session} is deleted after ${summary.calls} calls; ${left}`);
    return 0;
  },
});
