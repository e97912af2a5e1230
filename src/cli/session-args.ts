import type { ArgsDef } from "citty";

/** Arguments that several session commands share. */
export const sessionId = {
  session: { type: "positional", description: "Session id", required: true },
} as const satisfies ArgsDef;

export const callArgs = {
  "call-id": {
    type: "string",
    valueHint: "id",
    description: "The same id again never runs it twice (default: a new one)",
  },
  timeout: {
    type: "string",
    valueHint: "duration",
    description: "Ends the command after so long (500ms, 30s, 10m, 2h)",
  },
  wait: {
    type: "string",
    valueHint: "duration",
    description: "Gives up waiting after so long; the call goes on",
  },
} as const satisfies ArgsDef;
