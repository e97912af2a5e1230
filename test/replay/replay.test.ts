import { readFileSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { DefaultLogger, Runtime, Worker } from "@temporalio/worker";
import proto from "@temporalio/proto";
import { DeterminismViolationError } from "@temporalio/workflow";
import { beforeAll, describe, expect, it } from "vitest";

/**
 * Sessions live for days, so a new release meets sessions of the last one. Their histories are recorded once
 * (record.ts) and never again: a change of workflow code that doesn't replay them needs a `patched`.
 */
const directory = fileURLToPath(new URL("./histories/", import.meta.url));
const codePath = fileURLToPath(new URL("../../dist/workflow-bundle.js", import.meta.url));
const names = readdirSync(directory).map((name) => name.replace(/\.binpb$/, ""));

const { History } = proto.temporal.api.history.v1;
const read = (name: string) => History.decode(readFileSync(`${directory}${name}.binpb`));
const replay = (history: unknown, name: string) =>
  Worker.runReplayHistory({ workflowBundle: { codePath } }, history, `replay-${name}`);

beforeAll(() => {
  Runtime.install({
    logger: new DefaultLogger("ERROR", () => undefined),
    telemetryOptions: { logging: { forward: {}, filter: "OFF" } },
  });
});

describe("B86 [temporal-replay]", () => {
  it("there is a history of each kind", () => {
    const kinds = [
      "busy",
      "cancelled",
      "deleted",
      "failed",
      "idle",
      "lost",
      "mid-call",
      "recreated",
      "resumed",
      "rolled-over",
      "rolled-over-2",
      "stopped",
    ];
    expect(names).toEqual(expect.arrayContaining(kinds));
  });

  it.each(names)("%s replays on today's code", async (name) => {
    await replay(read(name), name);
  });

  it.each(["idle", "rolled-over-2", "recreated"])("an altered %s does not", async (name) => {
    const history = read(name);
    const scheduled = history.events.find((event) => event.activityTaskScheduledEventAttributes);
    const type = scheduled?.activityTaskScheduledEventAttributes?.activityType;
    if (type === undefined || type === null) throw new Error("no activity in it");
    type.name = "somethingElse";
    await expect(replay(history, name)).rejects.toThrow(DeterminismViolationError);
  });
});
