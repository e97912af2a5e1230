export { startDevServer, type DevServer, type DevServerOptions } from "./dev-server.js";
export { findTemporalCli, type FindCliOptions } from "./find-temporal-cli.js";
export type { TemporalCli } from "./check-cli.js";
