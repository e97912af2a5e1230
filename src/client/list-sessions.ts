import { providerNames, sessionStatuses, sessionWorkflowType } from "../contract/names.js";
import type { SessionStatus, SessionView } from "../contract/state.js";
import { ask, type ClientContext } from "./client-context.js";

export interface SessionFilter {
  readonly status?: SessionStatus;
  readonly provider?: SessionView["provider"];
  readonly host?: string;
  /** True: open sessions only; false: ended ones only. */
  readonly open?: boolean;
  /** Default 1,000. */
  readonly limit?: number;
}

export interface SessionListItem {
  readonly sessionId: string;
  /** Of its current run. */
  readonly runId: string;
  readonly open: boolean;
  /** As last noted in the workflow's memo; undefined while a new session has noted none. */
  readonly status: SessionStatus | undefined;
  readonly provider: SessionView["provider"] | undefined;
  readonly host: string | undefined;
  readonly labels: Readonly<Record<string, string>>;
  readonly startedAt: string;
  readonly endedAt: string | undefined;
}

/** `session` is written by the workflow at each change of its status. */
export const memoKeys = { session: "holdfast", labels: "holdfastLabels" } as const;

/** From workflow type and memo alone: search attributes would have to be registered first. */
export async function listSessions(
  context: ClientContext,
  filter: SessionFilter,
): Promise<SessionListItem[]> {
  return ask(
    context,
    "list sessions",
    async () => {
      const items: SessionListItem[] = [];
      for await (const execution of context.temporal.workflow.list({ query: listQuery(filter.open) })) {
        const item = toItem(execution);
        if (!matches(item, filter)) continue;
        items.push(item);
        if (items.length >= (filter.limit ?? 1000)) break;
      }
      return items;
    },
    // Thousands of sessions are many pages, and lists are rate-limited.
    60_000,
  );
}

/** A run that continued as new is not an ended session. */
function listQuery(open: boolean | undefined): string {
  const type = `WorkflowType = "${sessionWorkflowType}"`;
  if (open === undefined) return `${type} AND ExecutionStatus != "ContinuedAsNew"`;
  return `${type} AND ExecutionStatus ${open ? "=" : "!="} "Running" AND ExecutionStatus != "ContinuedAsNew"`;
}

interface Execution {
  readonly workflowId: string;
  readonly runId: string;
  readonly status: { readonly name: string };
  readonly memo?: Readonly<Record<string, unknown>> | undefined;
  readonly startTime: Date;
  readonly closeTime?: Date | undefined;
}

/** A memo is anybody's: what does not look like ours is left out. */
function toItem(execution: Execution): SessionListItem {
  const session = asRecord(execution.memo?.[memoKeys.session]);
  const open = execution.status.name === "RUNNING";
  return {
    sessionId: execution.workflowId,
    runId: execution.runId,
    open,
    status: open
      ? sessionStatuses.find((name) => name === session.status)
      : endedStatus(execution.status.name),
    provider: providerNames.find((name) => name === session.provider),
    host: typeof session.host === "string" ? session.host : undefined,
    labels: asRecord(execution.memo?.[memoKeys.labels]) as Record<string, string>,
    startedAt: execution.startTime.toISOString(),
    endedAt: execution.closeTime?.toISOString(),
  };
}

const asRecord = (value: unknown): Record<string, unknown> =>
  typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};

/** Terminated counts as failed: its sandbox was left, for the reaper. */
const endedStatus = (name: string): SessionStatus =>
  name === "COMPLETED" || name === "CANCELLED" ? "deleted" : "failed";

function matches(item: SessionListItem, filter: SessionFilter): boolean {
  return (
    (filter.status === undefined || item.status === filter.status) &&
    (filter.provider === undefined || item.provider === filter.provider) &&
    (filter.host === undefined || item.host === filter.host)
  );
}
