import { MockActivityEnvironment } from "@temporalio/testing";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createFollowingActivities } from "../../src/activities/call-activities.js";
import type { CallDispatch, CallEnding } from "../../src/contract/activities.js";
import { ProviderError } from "../../src/providers/errors.js";
import { activityDepsOf } from "../support/activity-deps.js";
import { dispatchOf } from "../support/dispatch.js";
import { memoryHandle } from "../support/memory-channel.js";
import { createMemoryWorker, type MemoryWorker } from "../support/memory-worker.js";

let worker: MemoryWorker;
beforeEach(async () => {
  worker = await createMemoryWorker();
  worker.sandbox.programs.set("quick", () => Promise.resolve(undefined));
});
afterEach(async () => {
  await worker[Symbol.asyncDispose]();
});

const warm = async () => {
  const lease = await worker.deps.pool.acquire(memoryHandle(), { signal: new AbortController().signal });
  lease.release();
};
const followCall = (input: Record<string, unknown>, tool: CallDispatch["call"]["tool"] = "bash") => {
  const activities = createFollowingActivities(activityDepsOf(worker));
  const dispatch = dispatchOf(tool, input, { acknowledged: ["old", "older"] });
  const environment = new MockActivityEnvironment();
  return environment.run<[], CallEnding, () => Promise<CallEnding>>(() => activities.followCall(dispatch));
};
const failingAcknowledge = () => {
  for (const channel of worker.sandbox.channels) {
    channel.acknowledge = () => Promise.reject(new ProviderError("unavailable", "broken"));
  }
};

describe("acknowledgements of a followed call", () => {
  it("are told while it runs, on the channel that it opened", async () => {
    let finish = (): void => undefined;
    worker.sandbox.programs.set("slow", async () => {
      await new Promise<void>((resolve) => (finish = resolve));
      return undefined;
    });
    const followed = followCall({ command: "slow" });
    await vi.waitFor(() => {
      expect(worker.sandbox.acknowledged).toEqual(["old", "older"]);
    });
    finish();
    expect((await followed).acknowledged).toEqual(["old", "older"]);
    expect(worker.sandbox.acknowledged).toEqual(["old", "older"]);
  });

  it("are told once, however often a tool goes into the sandbox", async () => {
    worker.sandbox.files.set("/workspace/f", { bytes: Buffer.from("a"), mode: 0o644 });
    const edits = [{ oldText: "a", newText: "b" }];
    expect((await followCall({ path: "f", edits }, "edit")).acknowledged).toEqual(["old", "older"]);
    expect(worker.sandbox.acknowledged).toEqual(["old", "older"]);
  });

  it("are told by a call that claims nothing, when a channel is open", async () => {
    expect(await followCall({ nonsense: 1 })).not.toHaveProperty("acknowledged");
    await warm();
    expect((await followCall({ nonsense: 1 })).acknowledged).toEqual(["old", "older"]);
  });

  it("that fail do not concern the call", async () => {
    await warm();
    failingAcknowledge();
    const ending = await followCall({ command: "quick" });
    expect(ending.outcome).toEqual({ kind: "exited", exitCode: 0 });
    expect(ending).not.toHaveProperty("acknowledged");
  });
});
