import type { SessionView } from "../../contract/state.js";
import { command } from "../command.js";
import { sessionId } from "../session-args.js";
import { table } from "../table.js";

export default command({
  name: "session state",
  description: "Show what a session is and does",
  args: { ...sessionId },
  async run({ args, report, client }) {
    const state = await client().sessions.get(args.session).state();
    report.result(state, describe(state));
    return 0;
  },
});

function describe(state: SessionView): string {
  const { calls } = state;
  const hasEnded = state.status === "deleted" || state.status === "failed";
  const rows = [
    ["session", state.sessionId],
    ["status", state.status],
    ["provider", state.provider],
    ["host", state.host],
    ["sandbox", state.sandboxId],
    ["generation", state.generation?.number.toString()],
    ["calls", `${calls.done} done, ${calls.running} running, ${calls.queued} queued`],
    ["running", state.running.join(", ")],
    ["background", state.background.map((process) => `${process.pid} ${process.command}`).join(", ")],
    ["last activity", state.lastActivityAt],
    ["stops when idle", hasEnded ? undefined : state.expires?.idleAt],
    ["is deleted", hasEnded ? undefined : state.expires?.deleteAt],
    ["refused", state.rejected.at(-1)?.message],
    ["failure", state.failure?.message],
    ["what to do", state.failure?.hint],
  ];
  return table(rows.filter((row): row is [string, string] => row[1] !== undefined && row[1] !== ""));
}
