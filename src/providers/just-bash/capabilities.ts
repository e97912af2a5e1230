import type { Capabilities } from "../../contract/sandbox.js";

/** What the simulated shell can do, and where it is not a real one. */
export const capabilities: Capabilities = {
  isolation: "none",
  networks: ["deny-all", "allow-all"],
  networkSwitch: false,
  processes: false,
  survivesWorker: false,
  snapshots: false,
  dockerfile: false,
  searchEngine: "built-in",
  notes: [
    "output-at-end: a command's output arrives when it ends, not while it runs",
    "timeout-output: of a command that is ended while it computes (not in sleep) the output is lost",
    "no-processes: no kill, trap, ps, yes or real background jobs; `cmd &` is waited for",
    "survives-worker: a running command dies with its worker and is answered `lost`",
    "bytes: on stderr, a mixture of text and bytes that are not UTF-8 may be re-encoded",
    "output-memory: a command's output is kept in memory, at most 256 MiB",
    "network: allow-all gives curl, which reaches no private addresses; names are not resolved otherwise",
    "isolation: not a security boundary; commands are interpreted inside the worker process",
  ],
};
