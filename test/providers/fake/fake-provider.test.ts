import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { resolveSpec } from "../../../src/contract/spec.js";
import { createFakeProvider } from "../../../src/providers/fake/provider.js";
import { context, request, run } from "../subject.js";

const session = { sessionId: "s1", runId: "r1" };

describe("fake provider as it is told", () => {
  it("fails a step the given number of times, by variables of the template", async () => {
    const provider = createFakeProvider({ hostId: "h" });
    const env = { FAKE_PREPARE_FAIL: "unavailable", FAKE_PREPARE_FAIL_TIMES: "2" };
    const spec = resolveSpec({ provider: "fake", template: { env } });
    for (let attempt = 0; attempt < 2; attempt++) {
      await expect(provider.prepare(spec, context())).rejects.toMatchObject({ code: "unavailable" });
    }
    await provider.prepare(spec, context());
    await provider.prepare(spec, context());
    expect(provider.counts.prepared).toBe(1);
  });

  it("refuses variables it can't read, by field", () => {
    const provider = createFakeProvider({ hostId: "h" });
    for (const [name, value] of Object.entries({ FAKE_START_DELAY_MS: "soon", FAKE_STOP_FAIL: "bang" })) {
      const spec = resolveSpec({ provider: "fake", template: { env: { [name]: value } } });
      const checked = (): void => {
        provider.check(spec);
      };
      expect(checked).toThrow(expect.objectContaining({ field: `spec.template.env.${name}` }));
    }
  });

  it("obeys the abort of a slow start and makes nothing", async () => {
    const provider = createFakeProvider({ hostId: "h", steps: { start: { delayMs: 60_000 } } });
    const spec = resolveSpec({ provider: "fake" });
    await provider.prepare(spec, context());
    const abort = new AbortController();
    const starting = provider.start({ session, generation: 1, spec }, context(abort.signal));
    abort.abort(new Error("deleted meanwhile"));
    await expect(starting).rejects.toThrow("deleted meanwhile");
    expect([provider.counts.created, provider.sandboxes]).toEqual([0, []]);
  });

  it("lands late when told, and what a removal has passed by then is removed as it lands", async () => {
    const steps = { start: { delayMs: 300, landsLate: true } };
    const provider = createFakeProvider({ hostId: "h", steps });
    const spec = resolveSpec({ provider: "fake" });
    await provider.prepare(spec, context());
    for (const [generation, remove] of [
      [1, false],
      [2, true],
    ] as const) {
      const abort = new AbortController();
      const starting = provider.start({ session, generation, spec }, context(abort.signal));
      abort.abort(new Error("deleted meanwhile"));
      await expect(starting).rejects.toThrow("deleted meanwhile");
      if (remove) await provider.remove({ session, upToGeneration: generation }, context());
      await sleep(600);
      expect(provider.sandboxes).toHaveLength(remove ? 0 : 1);
    }
    expect(provider.counts).toMatchObject({ created: 2, removed: 2 });
  });

  it("runs what a script function says, with output before the end", async () => {
    const provider = createFakeProvider({
      hostId: "h",
      script: ({ script, env }) => ({ stdout: `${script}:${env.A ?? ""}`, exitCode: 7, delayMs: 200 }),
    });
    const spec = resolveSpec({ provider: "fake" });
    await provider.prepare(spec, context());
    const handle = await provider.start({ session, generation: 1, spec }, context());
    const channel = await provider.connect(handle, context());
    const ran = await run(channel, request("cmd", { env: { A: "b" } }));
    expect(ran.end.outcome).toEqual({ kind: "exited", exitCode: 7 });
    expect(ran.end.endedAtMs - ran.end.startedAtMs).toBeGreaterThanOrEqual(190);
    expect(ran.stdout.toString()).toBe("cmd:b");
    expect(provider.counts.commands).toBe(1);
  });
});
