import { command } from "../command.js";
import { runChecks } from "../doctor/run-checks.js";
import { exitCodes } from "../exit-codes.js";
import { withProgress } from "../progress.js";
import { table } from "../table.js";

const marks = { ok: "ok", warning: "note", problem: "PROBLEM" } as const;

export default command({
  name: "doctor",
  description: "Check everything that Holdfast needs, and say what to do",
  args: {},
  async run({ config, report, client }) {
    const checks = await withProgress("Checking", () => runChecks({ config, client: client() }), {
      quiet: report.json,
    });
    const healthy = checks.every((check) => check.status !== "problem");
    const lines = table(checks.map(({ status, name, detail }) => [marks[status], name, detail]));
    const todo = checks.flatMap(({ name, status, hint }) =>
      hint === undefined || status === "ok" ? [] : [`${name}: ${hint}`],
    );
    report.result(
      { healthy, checks },
      [lines, ...(todo.length === 0 ? [] : ["", "What to do:", ...todo])].join("\n"),
    );
    return healthy ? exitCodes.ok : exitCodes.failed;
  },
});
