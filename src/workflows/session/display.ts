import { setCurrentDetails, upsertMemo } from "@temporalio/workflow";
import type { SessionState } from "./session-state.js";
import { time } from "./views.js";

/**
 * What Temporal's UI shows of a session. The details cost nothing (they are asked for); the memo, which lists
 * show without asking the session, costs an event and so changes only with the status.
 */
export function createDisplay(state: SessionState): { refresh(): void } {
  let shown = "";
  return {
    refresh() {
      setCurrentDetails(details(state));
      const { lifecycle, belongings } = state;
      const key = `${lifecycle.status}/${lifecycle.generation}`;
      if (key === shown) return;
      shown = key;
      upsertMemo({
        holdfast: {
          status: lifecycle.status,
          provider: belongings.placement?.spec.provider ?? null,
          host: belongings.placement?.hostId ?? null,
          sandboxId: belongings.handle?.sandboxId ?? null,
          generation: lifecycle.generation,
        },
      });
    },
  };
}

function details(state: SessionState): string {
  const { lifecycle, belongings, calls } = state;
  const running = calls.running().slice(0, 10);
  const lines = [
    `**${lifecycle.status}**, generation ${lifecycle.generation}`,
    `- provider: ${belongings.placement?.spec.provider ?? "not placed yet"}`,
    `- host: ${belongings.placement?.hostId ?? "not placed yet"}`,
    `- sandbox: ${belongings.handle?.sandboxId ?? "none"}`,
    `- calls: ${calls.queued().length} queued, ${calls.running().length} running, ${calls.doneCount()} done`,
    `- last activity: ${time(lifecycle.lastActivityMs)}`,
    ...running.map((record) => `- running: \`${record.tool}\` ${record.callId}`),
    ...(lifecycle.failure === undefined ? [] : [`- failure: ${lifecycle.failure.message}`]),
  ];
  return lines.join("\n");
}
