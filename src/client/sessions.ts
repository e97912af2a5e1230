import { randomUUID } from "node:crypto";
import { WorkflowIdConflictPolicy, WorkflowIdReusePolicy } from "@temporalio/client";
import { limits, sessionWorkflowType } from "../contract/names.js";
import { parse } from "../contract/parse.js";
import { sessionSpecSchema, type SessionSpec } from "../contract/spec.js";
import { ask, type ClientContext } from "./client-context.js";
import { HoldfastError } from "./holdfast-error.js";
import { listSessions, memoKeys, type SessionFilter, type SessionListItem } from "./list-sessions.js";
import { createSession, type Session } from "./session.js";

export interface Sessions {
  /**
   * Checks the spec, then starts the session's workflow; resolves as soon as the server has it, while the sandbox
   * is still being made. Throws `invalid-request` with the field before anything is sent, `conflict` when a
   * session with this id is open.
   *
   * @param options.sessionId Also the workflow's id. Default: a new UUID.
   */
  start(spec: SessionSpec, options?: { readonly sessionId?: string }): Promise<Session>;
  /** A handle; asks nobody whether there is such a session. */
  get(sessionId: string): Session;
  /** Newest first. Sessions started in the last second may be missing: the server's list lags. */
  list(filter?: SessionFilter): Promise<SessionListItem[]>;
}

export function createSessions(context: ClientContext): Sessions {
  return {
    async start(spec, { sessionId = randomUUID() } = {}) {
      const checked = checkedSpec(spec);
      checkSessionId(sessionId);
      const handle = await ask(context, `start session ${sessionId}`, () =>
        context.temporal.workflow.start(sessionWorkflowType, {
          workflowId: sessionId,
          taskQueue: context.taskQueue,
          args: [checked],
          workflowIdConflictPolicy: WorkflowIdConflictPolicy.FAIL,
          // A deleted session's id may be used again: identity is the id and the first run's id.
          workflowIdReusePolicy: WorkflowIdReusePolicy.ALLOW_DUPLICATE,
          memo: memoOf(checked),
          staticSummary: summaryOf(checked),
          staticDetails: detailsOf(sessionId),
        }),
      );
      return createSession(context, { sessionId, firstRunId: handle.firstExecutionRunId });
    },
    get(sessionId) {
      checkSessionId(sessionId);
      return createSession(context, { sessionId });
    },
    list: (filter = {}) => listSessions(context, filter),
  };
}

/** What the user wrote, checked. Sent as written: defaults are the workers' business, and theirs alone. */
function checkedSpec(spec: SessionSpec): SessionSpec {
  const parsed = parse(sessionSpecSchema, spec, "spec");
  if (!parsed.ok) throw HoldfastError.from(parsed.failure);
  const sizeBytes = Buffer.byteLength(JSON.stringify(parsed.value));
  if (sizeBytes <= limits.specBytes) return parsed.value;
  throw new HoldfastError(
    "too-large",
    `spec: ${sizeBytes} bytes as JSON, at most ${limits.specBytes} can be sent`,
    {
      field: "spec",
      hint: "Put files and long setup scripts into the artifact store (template.resources); nothing was created.",
    },
  );
}

function checkSessionId(sessionId: string): void {
  if (/^[^\x00-\x1f\x7f]{1,200}$/.test(sessionId) && !sessionId.startsWith("template/")) return;
  throw new HoldfastError(
    "invalid-request",
    `sessionId: ${JSON.stringify(sessionId.slice(0, 220))} is no session id`,
    {
      field: "sessionId",
      hint: 'Use 1 to 200 printable characters that do not start with "template/".',
    },
  );
}

/** As the workflow itself keeps it; the labels are only ours. */
function memoOf(spec: SessionSpec): Record<string, unknown> {
  return {
    [memoKeys.session]: { status: "preparing", provider: spec.provider, host: spec.host ?? null },
    ...(spec.labels === undefined ? {} : { [memoKeys.labels]: spec.labels }),
  };
}

function summaryOf(spec: SessionSpec): string {
  const from = spec.template?.image ?? (spec.template?.dockerfile === undefined ? undefined : "a Dockerfile");
  return `Sandbox session on ${spec.provider}${from === undefined ? "" : `, from ${from}`}`.slice(0, 200);
}

function detailsOf(sessionId: string): string {
  return [
    "A durable sandbox, owned by this workflow.",
    "",
    `- look: \`holdfast session state ${sessionId}\``,
    `- run: \`holdfast session bash ${sessionId} 'ls -la'\``,
    `- end: \`holdfast session delete ${sessionId}\``,
  ].join("\n");
}
