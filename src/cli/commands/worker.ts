import { command } from "../command.js";
import { stopSignal } from "../stop-signal.js";
import { logLevelFrom, logLevels, runWorkerProcess } from "../worker-process.js";

export default command({
  name: "worker",
  description: "Run this host's worker until Ctrl-C or SIGTERM; commands outlive it in their sandboxes",
  args: {
    "log-level": { type: "string", valueHint: logLevels.join("|"), description: "On stderr (default: info)" },
  },
  async run({ args, config, report, client }) {
    const logLevel = logLevelFrom(args["log-level"] ?? "info");
    // Its words about a wrong address or namespace are better than the native connection's.
    const server = await client().server();
    const signal = stopSignal(() => {
      report.note(
        "Stopping: commands go on in their sandboxes, the next worker of this host takes them over.",
      );
    });
    await runWorkerProcess({
      config,
      logLevel,
      signal,
      onReady({ hostId, owner }) {
        report.result(
          {
            ready: true,
            hostId,
            owner,
            address: server.address,
            namespace: server.namespace,
            pid: process.pid,
          },
          `Worker of host ${hostId} serves ${config.taskQueue} on ${server.address} (namespace ${server.namespace})`,
        );
      },
    });
    return 0;
  },
});
