import { expect } from "vitest";
import { capabilitiesSchema, handleSchema, type Handle } from "../../src/contract/sandbox.js";
import type { SandboxResource } from "../../src/providers/provider.js";
import { Bench, bytes, context, readText, request, run, type Subject } from "./subject.js";

export function lifecycleCases(subject: Subject): void {
  const bench = new Bench(subject);

  bench.case("capabilities", "say what it can do, in the contract's words", {}, async () => {
    const capabilities = await bench.provider.capabilities();
    expect(capabilitiesSchema.parse(capabilities)).toEqual(capabilities);
  });

  bench.case("check", "a policy that can't be enforced is refused before anything is made", {}, async () => {
    const { networks } = await bench.provider.capabilities();
    const spec = bench.spec({ network: { allow: ["example.com"] } });
    const checked = (): void => {
      bench.provider.check(spec);
    };
    if (networks.includes("lists")) expect(checked).not.toThrow();
    else expect(checked).toThrow(expect.objectContaining({ code: "unsupported", field: "spec.network" }));
  });

  bench.case("template-missing", "start without the template says so, and makes nothing", {}, async () => {
    const spec = bench.spec({ template: { revision: "never prepared" } });
    const session = bench.identity();
    const starting = bench.provider.start({ session, generation: 1, spec }, context());
    await expect(starting).rejects.toMatchObject({ code: "template-not-provisioned" });
    expect(await resourcesOf(session.sessionId)).toEqual([]);
  });

  bench.case(
    "template-reuse",
    "prepare twice gives the same artifact; start finds it by its key",
    {},
    async () => {
      const spec = bench.spec();
      const first = await bench.provider.prepare(spec, context());
      const second = await bench.provider.prepare(spec, context());
      expect(second).toEqual(first);
      expect(first.templateKey).toMatch(/^[0-9a-f]{24}$/);
      const handle = await bench.provider.start(
        { session: bench.identity(), generation: 1, spec },
        context(),
      );
      expect(handle.templateKey).toBe(first.templateKey);
    },
  );

  bench.case(
    "template-failed",
    "a failing setup command is told with its output and not cached",
    { shell: true },
    async () => {
      const spec = bench.spec({ template: { setup: ["echo setup-says-$((40 + 2)); exit 7"] } });
      for (const attempt of [1, 2]) {
        const preparing = bench.provider.prepare(spec, context());
        await expect(preparing, `attempt ${attempt}`).rejects.toMatchObject({
          code: "template-failed",
          message: expect.stringContaining("setup-says-42") as string,
        });
      }
      const starting = bench.provider.start({ session: bench.identity(), generation: 1, spec }, context());
      await expect(starting).rejects.toMatchObject({ code: "template-not-provisioned" });
    },
  );

  bench.case(
    "B35",
    "[tmpl-stampede] concurrent prepares run the setup for one template",
    { shell: true },
    async () => {
      const setup = ["mkdir -p /workspace/built; echo $RANDOM$RANDOM$RANDOM > /workspace/built/id"];
      const spec = bench.spec({ template: { setup } });
      await Promise.all([1, 2, 3, 4].map(() => bench.provider.prepare(spec, context())));
      const ids = new Set<string>();
      for (let session = 0; session < 3; session++) {
        const { channel } = await bench.open(spec);
        ids.add(await readText(channel, "/workspace/built/id"));
        await channel.close();
      }
      expect(ids.size).toBe(1);
      expect([...ids][0]).toMatch(/^\d+\n$/);
    },
  );

  bench.case("handle", "is JSON that a later process can use", {}, async () => {
    const handle = await bench.start();
    expect(handleSchema.parse(JSON.parse(JSON.stringify(handle)))).toEqual(handle);
  });

  bench.case("B26", "[life-concurrent] five starts of one session make one sandbox", {}, async () => {
    const spec = bench.spec();
    const session = bench.identity();
    await bench.provider.prepare(spec, context());
    const handles = await Promise.all(
      [1, 2, 3, 4, 5].map(() => bench.provider.start({ session, generation: 1, spec }, context())),
    );
    expect(new Set(handles.map((handle) => handle.sandboxId)).size).toBe(1);
    expect((await resourcesOf(session.sessionId)).filter(isSandbox)).toHaveLength(1);
  });

  bench.case("start-foreign", "a start with another environment does not adopt the sandbox", {}, async () => {
    const session = bench.identity();
    await bench.start(bench.spec({ env: { A: "1" } }), session);
    await expect(bench.start(bench.spec({ env: { A: "2" } }), session)).rejects.toMatchObject({
      code: "conflict",
    });
  });

  bench.case(
    "B29",
    "[life-generation] the next generation, and the same id again, see nothing old",
    {},
    async () => {
      const session = bench.identity();
      const first = await bench.start(bench.spec(), session, 1);
      const old = await bench.provider.connect(first, context());
      await old.files.write("/workspace/gen1", bytes("old"), {});
      await old.close();

      const second = await bench.start(bench.spec(), session, 2);
      expect(second.sandboxId).not.toBe(first.sandboxId);
      expect(second.generation).not.toEqual(first.generation);
      const again = await bench.start(bench.spec(), { ...bench.identity(), sessionId: session.sessionId }, 1);
      for (const handle of [second, again]) {
        const channel = await bench.provider.connect(handle, context());
        expect(await channel.files.stat("/workspace/gen1")).toBeUndefined();
        await channel.close();
      }
    },
  );

  bench.case("start-abort", "an aborted start leaves nothing, and can be made again", {}, async () => {
    const spec = bench.spec();
    const session = bench.identity();
    await bench.provider.prepare(spec, context());
    const abort = new AbortController();
    const starting = bench.provider.start({ session, generation: 1, spec }, context(abort.signal));
    abort.abort(new Error("not wanted any more"));
    await expect(starting).rejects.toThrow();
    expect((await resourcesOf(session.sessionId)).filter(isSandbox)).toEqual([]);
    await expect(bench.start(spec, session)).resolves.toMatchObject({ session });
  });

  bench.case(
    "stop-resume",
    "files and environment stay, stopping and resuming twice is fine",
    {},
    async () => {
      const { handle, channel } = await bench.open();
      await channel.files.write("/workspace/kept", bytes("still here"), {});
      await channel.close();
      await bench.provider.stop(handle, { graceMs: 1000 }, context());
      await bench.provider.stop(handle, { graceMs: 1000 }, context());
      await expect(bench.provider.connect(handle, context())).rejects.toMatchObject({ code: "closed" });

      const resumed = await Promise.all([1, 2, 3, 4, 5].map(() => bench.provider.resume(handle, context())));
      expect(new Set(resumed.map((one) => `${one.sandboxId} ${one.generation.key}`))).toEqual(
        new Set([`${handle.sandboxId} ${handle.generation.key}`]),
      );
      const back = await bench.provider.connect(resumed[0] ?? handle, context());
      expect(await readText(back, "/workspace/kept")).toBe("still here");
      await back.close();
    },
  );

  bench.case("stop-ends-calls", "a stop ends what runs and the record says so", {}, async () => {
    const { handle, channel } = await bench.open();
    const call = request(subject.commands.wait(60_000));
    await channel.run(call);
    await bench.provider.stop(handle, { graceMs: 500 }, context());
    const resumed = await bench.provider.resume(handle, context());
    const back = await bench.provider.connect(resumed, context());
    const { end } = await run(back, call);
    expect(["cancelled", "lost"]).toContain(end.outcome.kind);
    await back.close();
  });

  bench.case("resume-key", "resume refuses the handle of another generation", {}, async () => {
    const handle = await bench.start();
    await bench.provider.stop(handle, { graceMs: 0 }, context());
    const forged: Handle = { ...handle, generation: { ...handle.generation, key: "0".repeat(24) } };
    await expect(bench.provider.resume(forged, context())).rejects.toMatchObject({ code: "conflict" });
  });

  bench.case("remove", "is idempotent and concurrent, also of what never was", {}, async () => {
    const handle = await bench.start();
    const target = { session: handle.session, upToGeneration: 1 };
    await Promise.all([1, 2, 3].map(() => bench.provider.remove(target, context())));
    await bench.provider.remove(target, context());
    await expect(bench.provider.connect(handle, context())).rejects.toMatchObject({ code: "session-lost" });
    await expect(bench.provider.resume(handle, context())).rejects.toMatchObject({ code: "session-lost" });
    await bench.provider.stop(handle, { graceMs: 0 }, context());
    await bench.provider.remove({ session: bench.identity(), upToGeneration: 2 }, context());
    expect((await resourcesOf(handle.session.sessionId)).filter(isSandbox)).toEqual([]);
  });

  bench.case(
    "remove-generations",
    "removes all generations up to the given one, no later one",
    {},
    async () => {
      const session = bench.identity();
      const first = await bench.start(bench.spec(), session, 1);
      const second = await bench.start(bench.spec(), session, 2);
      const third = await bench.start(bench.spec(), session, 3);
      await bench.provider.remove({ session, upToGeneration: 2 }, context());
      for (const gone of [first, second]) {
        await expect(bench.provider.connect(gone, context())).rejects.toMatchObject({ code: "session-lost" });
      }
      const channel = await bench.provider.connect(third, context());
      await channel.close();
    },
  );

  bench.case("network-switch", "works, or is refused as unsupported", {}, async () => {
    const handle = await bench.start();
    const { networkSwitch } = await bench.provider.capabilities();
    const switching = bench.provider.setNetworkPolicy(handle, "allow-all", context());
    if (networkSwitch) await expect(switching).resolves.toMatchObject({ sandboxId: handle.sandboxId });
    else await expect(switching).rejects.toMatchObject({ code: "unsupported" });
  });

  bench.case("sweep", "removes what is stale, keeps the rest, and tells whose it is", {}, async () => {
    const stale = await bench.start();
    const live = await bench.start();
    const isStale = (resource: SandboxResource): boolean => resource.session?.runId === stale.session.runId;
    const dry = await bench.provider.sweep({ isStale, dryRun: true }, context());
    expect(dry.removed).toEqual([]);
    const found = dry.kept.find(isStale);
    expect(found).toMatchObject({ session: stale.session, generation: 1 });
    expect(Math.abs(Date.now() - (found?.createdAtMs ?? 0))).toBeLessThan(300_000);

    const report = await bench.provider.sweep({ isStale, dryRun: false }, context());
    expect(report.removed.filter(isSandbox)).toHaveLength(1);
    expect(report.failed).toEqual([]);
    expect(report.kept.some((kept) => kept.session?.runId === live.session.runId)).toBe(true);
    await expect(bench.provider.connect(stale, context())).rejects.toMatchObject({ code: "session-lost" });
    const channel = await bench.provider.connect(live, context());
    await channel.close();
  });

  /** What is there of a session, by a sweep that removes nothing. */
  async function resourcesOf(sessionId: string): Promise<SandboxResource[]> {
    const { kept } = await bench.provider.sweep({ isStale: () => false, dryRun: true }, context());
    return kept.filter((kept) => kept.session?.sessionId === sessionId);
  }
}

const isSandbox = (resource: SandboxResource): boolean => resource.kind === "session";
