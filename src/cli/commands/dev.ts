import { join } from "node:path";
import type { HoldfastConfig } from "../../config.js";
import { startDevServer, type DevServer } from "../../dev-server/index.js";
import { HoldfastError } from "../../client/index.js";
import { clientFor, command } from "../command.js";
import { holdDevLock } from "../dev-lock.js";
import { parseCount } from "../parse-flags.js";
import { withProgress } from "../progress.js";
import { stopSignal } from "../stop-signal.js";
import { logLevelFrom, logLevels, runWorkerProcess } from "../worker-process.js";

export default command({
  name: "dev",
  description: "Temporal dev server with UI and a worker in one; state is kept on disk",
  args: {
    port: { type: "string", valueHint: "port", description: "Of the server (default: 7233)" },
    "ui-port": { type: "string", valueHint: "port", description: "Of Temporal's UI (default: port + 1000)" },
    headless: { type: "boolean", description: "Without Temporal's UI" },
    "log-level": {
      type: "string",
      valueHint: logLevels.join("|"),
      description: "Of the worker (default: warn)",
    },
  },
  async run({ args, config, report }) {
    const logLevel = logLevelFrom(args["log-level"] ?? "warn");
    const port = parseCount(args.port, "--port") ?? 7233;
    const uiPort = parseCount(args["ui-port"], "--ui-port") ?? port + 1000;
    const signal = stopSignal(() => {
      report.note("Stopping ...");
    });
    const lock = await holdDevLock(config.stateDir);
    try {
      const server = config.temporal.addressChosen
        ? undefined
        : await withProgress(
            "Starting the Temporal dev server",
            ({ say }) =>
              startDevServer({
                config,
                port,
                signal,
                ...(args.headless ? {} : { ui: true, uiPort }),
                dbFilename: join(config.stateDir, "temporal.sqlite"),
                logFile: join(config.stateDir, "temporal.log"),
                onProgress: say,
              }),
            { quiet: report.json },
          );
      try {
        await serve({ config: at(config, server), server, logLevel, signal, report });
      } finally {
        // After the worker: it says goodbye to a server that still answers.
        await server?.stop();
      }
    } finally {
      await lock.release();
    }
    return 0;
  },
});

/** A named server is used as it is, and none is started. */
function at(config: HoldfastConfig, server: DevServer | undefined): HoldfastConfig {
  if (server === undefined) return config;
  const connection = { ...config.temporal.connection, address: server.address };
  return { ...config, temporal: { ...config.temporal, connection } };
}

async function serve(options: {
  readonly config: HoldfastConfig;
  readonly server: DevServer | undefined;
  readonly logLevel: Parameters<typeof runWorkerProcess>[0]["logLevel"];
  readonly signal: AbortSignal;
  readonly report: { result(document: unknown, text: string): void };
}): Promise<void> {
  const { config, server, logLevel, signal, report } = options;
  const client = clientFor(config);
  const facts = await client.server().finally(() => client.close());
  const serverGone = new AbortController();
  const gone = server?.ended.then((how) => {
    serverGone.abort();
    return how;
  });
  await runWorkerProcess({
    config,
    logLevel,
    signal: AbortSignal.any([signal, serverGone.signal]),
    onReady({ hostId }) {
      const document = {
        address: facts.address,
        namespace: facts.namespace,
        uiUrl: server?.uiUrl ?? null,
        serverPid: server?.pid ?? null,
        pid: process.pid,
        hostId,
        stateDir: config.stateDir,
      };
      report.result(document, welcome(document));
    },
  });
  if (serverGone.signal.aborted && !signal.aborted) {
    throw new HoldfastError("unavailable", `The Temporal dev server ended: ${(await gone) ?? ""}`, {
      hint: `Its last words are in ${join(config.stateDir, "temporal.log")}; state is kept, start again.`,
    });
  }
}

function welcome(facts: {
  address: string;
  namespace: string;
  uiUrl: string | null;
  hostId: string;
  stateDir: string;
}): string {
  const where = facts.address === "127.0.0.1:7233" ? "" : `TEMPORAL_ADDRESS=${facts.address} `;
  return [
    `Temporal   ${facts.address} (namespace ${facts.namespace})`,
    ...(facts.uiUrl === null ? [] : [`UI         ${facts.uiUrl}`]),
    `Worker     host ${facts.hostId}`,
    `State      ${facts.stateDir}`,
    "",
    "Next, in another terminal:",
    `  ${where}holdfast session start --id s1`,
    `  ${where}holdfast session bash s1 'echo hello > a.txt; ls -la'`,
    `  ${where}holdfast session delete s1`,
    "",
    "Ctrl-C stops both; sessions are kept and go on at the next start.",
  ].join("\n");
}
