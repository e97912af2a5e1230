/** What the bundler gets: every workflow type by its registered name. */
export { sandboxSession } from "./session/session-workflow.js";
