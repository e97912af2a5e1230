import { workflowInfo } from "@temporalio/workflow";
import { limits } from "../../contract/names.js";
import type { SessionContext } from "./session-context.js";

/**
 * Whether this run should hand over to a new one: before the server's limits on events, bytes and updates.
 * Only in states that can wait, and only after this run has done something, so that a low threshold never
 * makes a session turn in circles.
 */
export function isRollOverDue(context: SessionContext): boolean {
  const { status } = context.state.lifecycle;
  if (status !== "running" && status !== "stopped" && status !== "unreachable") return false;
  if (context.state.lifecycle.wanted.delete !== undefined || context.changes() === 0) return false;
  const info = workflowInfo();
  const threshold = context.state.belongings.placement?.rollOver;
  return (
    info.continueAsNewSuggested ||
    context.updates >= Math.min(threshold?.updates ?? limits.updatesPerRun, limits.updatesPerRun) ||
    info.historyLength >= (threshold?.historyEvents ?? Number.MAX_SAFE_INTEGER)
  );
}
