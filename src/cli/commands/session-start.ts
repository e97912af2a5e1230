import { HoldfastError, type Session } from "../../client/index.js";
import { providerNames } from "../../contract/names.js";
import type { SessionSpec } from "../../contract/spec.js";
import { command } from "../command.js";
import { parseDuration, parseJson, parsePairs, readJsonFile } from "../parse-flags.js";
import { withProgress } from "../progress.js";
import { waitUntilRunning } from "../wait-until-running.js";

export default command({
  name: "session start",
  description: "Start a session and wait until it runs",
  args: {
    provider: {
      type: "string",
      valueHint: providerNames.join("|"),
      description: "What isolates (default: just-bash)",
    },
    spec: {
      type: "string",
      valueHint: "file",
      description: "Whole spec as a JSON file, - for stdin; flags override it",
    },
    "template-json": {
      type: "string",
      valueHint: "json",
      description: 'Template, e.g. {"image":"debian:12"}',
    },
    image: { type: "string", valueHint: "name", description: "Short for the template's image" },
    network: { type: "string", valueHint: "deny-all|allow-all", description: "Network policy" },
    env: { type: "string", valueHint: "NAME=value,...", description: "Public variables of the session" },
    label: { type: "string", valueHint: "key=value,...", description: "Labels" },
    host: { type: "string", valueHint: "id", description: "Pin the session to this host" },
    idle: { type: "string", valueHint: "duration", description: "Stop after so long without activity" },
    id: { type: "string", valueHint: "id", description: "Session id (default: a new UUID)" },
    wait: {
      type: "boolean",
      default: true,
      description: "Wait until it runs",
      negativeDescription: "Return at once",
    },
  },
  async run({ args, report, client }) {
    const spec = await specFrom(args);
    const { sessions } = client();
    const session = await sessions.start(spec, args.id === undefined ? {} : { sessionId: args.id });
    if (args.wait) {
      await withProgress(`Starting session ${session.sessionId}`, () => waitUntilRunning(session), {
        quiet: report.json,
      }).catch((error: unknown) => {
        throw withId(error, session);
      });
    }
    report.result(
      { sessionId: session.sessionId, status: args.wait ? "running" : "preparing" },
      session.sessionId,
    );
    return 0;
  },
});

interface SpecFlags {
  provider?: string;
  spec?: string;
  "template-json"?: string;
  image?: string;
  network?: string;
  env?: string;
  label?: string;
  host?: string;
  idle?: string;
}

/** As the user wrote it: the client checks it, with the same words for file and flags. */
async function specFrom(args: SpecFlags): Promise<SessionSpec> {
  const base = args.spec === undefined ? {} : await readJsonFile(args.spec, "--spec");
  if (typeof base !== "object" || base === null || Array.isArray(base)) {
    throw new HoldfastError("invalid-request", "--spec: the file must hold a JSON object", {
      field: "--spec",
      hint: 'The least is { "provider": "just-bash" }.',
    });
  }
  const spec: Record<string, unknown> = { provider: "just-bash", ...base };
  if (args.provider !== undefined) spec.provider = args.provider;
  if (args["template-json"] !== undefined)
    spec.template = parseJson(args["template-json"], "--template-json");
  if (args.image !== undefined)
    spec.template = { ...(spec.template as object | undefined), image: args.image };
  if (args.network !== undefined) spec.network = args.network;
  if (args.host !== undefined) spec.host = args.host;
  const env = parsePairs(args.env, "--env");
  if (env !== undefined) spec.env = { ...(spec.env as object | undefined), ...env };
  const labels = parsePairs(args.label, "--label");
  if (labels !== undefined) spec.labels = { ...(spec.labels as object | undefined), ...labels };
  const idleMs = parseDuration(args.idle, "--idle");
  if (idleMs !== undefined) spec.timeouts = { ...(spec.timeouts as object | undefined), idleMs };
  return spec as unknown as SessionSpec;
}

/** The session exists by now, whatever the wait came to. */
function withId(error: unknown, { sessionId }: Session): unknown {
  if (!(error instanceof HoldfastError)) return error;
  const there =
    error.code === "unavailable" ? `Session ${sessionId} is there and starts as soon as a worker is. ` : "";
  return new HoldfastError(error.code, error.message, {
    field: error.field,
    hint: `${there}${error.hint ?? ""}`,
    cause: error,
  });
}
