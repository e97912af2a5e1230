import { MockActivityEnvironment } from "@temporalio/testing";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createKillingActivities } from "../../src/activities/call-activities.js";
import { createEndingActivities } from "../../src/activities/sandbox-activities.js";
import { createFakeProvider } from "../../src/providers/fake/provider.js";
import type { Provider } from "../../src/providers/provider.js";
import { activityDepsOf } from "../support/activity-deps.js";
import { memoryHandle } from "../support/memory-channel.js";
import { createMemoryWorker, type MemoryWorker } from "../support/memory-worker.js";

let worker: MemoryWorker;
let provider: Provider;
beforeEach(async () => {
  worker = await createMemoryWorker();
  provider = createFakeProvider({ hostId: "host-1" });
});
afterEach(async () => {
  await worker[Symbol.asyncDispose]();
});

const never = <T>(): Promise<T> => new Promise<T>(() => undefined);
const handle = memoryHandle();
const ending = () => createEndingActivities(activityDepsOf(worker, [provider]));

/** Runs an activity until it waits, then ends its worker's patience. */
async function cutOff(activity: () => Promise<unknown>, isWaiting: () => boolean): Promise<void> {
  const environment = new MockActivityEnvironment();
  const run = environment.run<[], unknown, typeof activity>(activity).then(
    () => "done",
    () => "cut off",
  );
  await vi.waitFor(() => {
    expect(isWaiting()).toBe(true);
  });
  environment.cancel("WORKER_SHUTDOWN");
  expect(await Promise.race([run, new Promise((done) => setTimeout(done, 5_000, "still there"))])).toBe(
    "cut off",
  );
}

describe("an activity whose engine is stuck ends with its worker", () => {
  it("killCall", async () => {
    const lease = await worker.deps.pool.acquire(handle, { signal: new AbortController().signal });
    lease.release();
    const kill = vi.spyOn(lease.channel, "kill").mockImplementation(() => never());
    const activities = createKillingActivities(activityDepsOf(worker));
    await cutOff(
      () => activities.killCall({ handle, callId: "c", by: "cancelCall" }),
      () => kill.mock.calls.length > 0,
    );
    expect(kill.mock.calls[0]?.[1].signal?.aborted).toBe(true);
  });

  it("stopSandbox", async () => {
    const stop = vi.spyOn(provider, "stop").mockImplementation(() => never());
    await cutOff(
      () => ending().stopSandbox({ handle, graceMs: 0, acknowledged: [] }),
      () => stop.mock.calls.length > 0,
    );
  });

  it("removeSandbox", async () => {
    const remove = vi.spyOn(provider, "remove").mockImplementation(() => never());
    const { session } = handle;
    await cutOff(
      () => ending().removeSandbox({ session, provider: "fake", upToGeneration: 1 }),
      () => remove.mock.calls.length > 0,
    );
  });
});

describe("setNetworkPolicy", () => {
  it("refuses a policy that is none, before the provider sees it", async () => {
    const set = vi.spyOn(provider, "setNetworkPolicy");
    const network = { allow: "10.0.0.0/8" } as never;
    const run = new MockActivityEnvironment().run(() => ending().setNetworkPolicy({ handle, network }));
    await expect(run).rejects.toMatchObject({ type: "invalid-request", nonRetryable: true });
    expect(set).not.toHaveBeenCalled();
  });
});
