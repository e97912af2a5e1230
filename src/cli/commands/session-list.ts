import { HoldfastError } from "../../client/index.js";
import { providerNames, sessionStatuses } from "../../contract/names.js";
import { command } from "../command.js";
import { parseCount } from "../parse-flags.js";
import { table } from "../table.js";

export default command({
  name: "session list",
  description: "List sessions, newest first; open ones unless --all",
  args: {
    status: { type: "string", valueHint: "status", description: sessionStatuses.join(", ") },
    provider: { type: "string", valueHint: "name", description: providerNames.join(", ") },
    host: { type: "string", valueHint: "id", description: "On this host only" },
    all: { type: "boolean", description: "Ended sessions too" },
    limit: { type: "string", valueHint: "count", description: "At most so many (default 1000)" },
  },
  async run({ args, report, client }) {
    const status = oneOf(sessionStatuses, args.status, "--status");
    const limit = parseCount(args.limit, "--limit");
    const sessions = await client().sessions.list({
      status,
      provider: oneOf(providerNames, args.provider, "--provider"),
      host: args.host,
      limit,
      // An ended status can be asked for without --all.
      open: args.all || status !== undefined ? undefined : true,
    });
    const rows = sessions.map((session) => [
      session.sessionId,
      session.status ?? "?",
      session.provider ?? "?",
      session.host ?? "-",
      session.startedAt,
    ]);
    report.result(
      sessions,
      rows.length === 0
        ? "No sessions."
        : table([["SESSION", "STATUS", "PROVIDER", "HOST", "STARTED"], ...rows]),
    );
    return 0;
  },
});

function oneOf<T extends string>(
  known: readonly T[],
  value: string | undefined,
  flag: string,
): T | undefined {
  if (value === undefined) return undefined;
  const found = known.find((name) => name === value);
  if (found !== undefined) return found;
  throw new HoldfastError("invalid-request", `${flag}: ${JSON.stringify(value)} is unknown`, {
    field: flag,
    hint: `Use one of ${known.join(", ")}.`,
  });
}
