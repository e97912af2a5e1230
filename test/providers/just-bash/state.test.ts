import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { resolveSpec } from "../../../src/contract/spec.js";
import type { Provider } from "../../../src/providers/provider.js";
import { context, request, run } from "../subject.js";
import { createProvider } from "./create-provider.js";

const spec = resolveSpec({ provider: "just-bash", env: { PUBLIC: "value" } });
const session = { sessionId: "s1", runId: "r1" };
const everything = { isStale: () => true, dryRun: false };

describe("just-bash on disk", () => {
  let stateDir: string;
  let provider: Provider;
  const open: Provider[] = [];

  const create: typeof createProvider = async (...args) => {
    const made = await createProvider(...args);
    open.push(made);
    return made;
  };
  const place = (...names: string[]): string => join(stateDir, "just-bash", ...names);
  const start = (generation = 1) => provider.start({ session, generation, spec }, context());

  beforeEach(async () => {
    stateDir = await mkdtemp(join(tmpdir(), "holdfast-state-"));
    provider = await create(stateDir);
  });

  afterEach(async () => {
    await Promise.all(open.splice(0).map((one) => one.close()));
    await rm(stateDir, { recursive: true, force: true });
  });

  it("removes a sandbox whose start lands after the removal", async () => {
    await provider.prepare(spec, context());
    const starting = Promise.allSettled([1, 2, 3].map(() => start()));
    await provider.remove({ session, upToGeneration: 1 }, context());
    for (const result of await starting) {
      if (result.status === "rejected") expect(result.reason).toMatchObject({ code: "session-lost" });
    }
    await expect(start()).rejects.toMatchObject({ code: "session-lost" });
    expect(await readdir(place("sessions"))).toEqual([]);
    expect(await readdir(place("staging"))).toEqual([]);
    await expect(start(2)).resolves.toMatchObject({ generation: { number: 2 } });
  });

  it("keeps secrets and the values of calls out of everything on disk", async () => {
    await provider.prepare(spec, context());
    const handle = await start();
    const channel = await provider.connect(handle, context());
    const secret = "s3cr3t-B74";
    await run(channel, request('test "$TOKEN" = s3cr3t-B74 -o -n "$TOKEN"', { env: { TOKEN: secret } }));
    const names = await readdir(place(), { recursive: true, withFileTypes: true });
    for (const entry of names.filter((one) => one.isFile())) {
      const content = await readFile(join(entry.parentPath, entry.name), "utf8");
      expect(content, entry.name).not.toContain(secret);
    }
    expect(JSON.stringify(handle)).not.toContain(secret);
  });

  it("B42 [reap-foreign] leaves what another installation made, and what can't be read", async () => {
    await provider.prepare(spec, context());
    await start();
    const foreign = await create(stateDir, { owner: "owner-2" });
    await foreign.prepare(resolveSpec({ provider: "just-bash", template: { revision: "2" } }), context());
    await foreign.start(
      { session, generation: 1, spec: resolveSpec({ provider: "just-bash", template: { revision: "2" } }) },
      context(),
    );
    await mkdir(place("sessions", "half"));
    await mkdir(place("sessions", "garbled"));
    await writeFile(place("sessions", "garbled", "meta.json"), "{");

    const report = await provider.sweep(everything, context());
    expect(report.removed.map(({ kind }) => kind).sort()).toEqual(["session", "template"]);
    const kept = Object.fromEntries(
      report.kept.map(({ kind, id, reason }) => [id.length < 10 ? id : kind, reason]),
    );
    expect(kept).toEqual({
      half: "it has no record",
      garbled: "its record can't be read",
      session: "it belongs to owner-2",
      template: "it belongs to owner-2",
    });
    expect(await readdir(place("sessions"))).toHaveLength(3);
  });

  it("refuses an empty owner", async () => {
    await expect(createProvider(stateDir, { owner: "" })).rejects.toMatchObject({ code: "invalid-request" });
  });

  it("finds what a removal or a build left when its process died half-way", async () => {
    await provider.prepare(spec, context());
    await start();
    await mkdir(place("trash", "grave"));
    await mkdir(place("staging", "leftover"));
    const record = { version: 1, role: "staging", owner: "owner-1", createdAtMs: 1 };
    await writeFile(place("staging", "leftover", "meta.json"), JSON.stringify(record));
    const kinds = new Set(["trash", "staging"]);
    const report = await provider.sweep({ isStale: ({ kind }) => kinds.has(kind), dryRun: false }, context());
    expect(report.removed.map(({ id }) => id).sort()).toEqual(["grave", "leftover"]);
    expect(await readdir(place("trash"))).toEqual([]);
    expect(await readdir(place("sessions"))).toHaveLength(1);
  });

  it("a second worker's handle, environment and files are the first one's", async () => {
    const withSetup = resolveSpec({
      provider: "just-bash",
      env: { PUBLIC: "value" },
      template: {
        env: { FROM: "template" },
        setup: ["echo made > made.txt; ln -s /workspace/made.txt link"],
      },
    });
    await provider.prepare(withSetup, context());
    const handle = await provider.start({ session, generation: 1, spec: withSetup }, context());
    await provider.stop(handle, { graceMs: 0 }, context());
    const second = await create(stateDir);
    const channel = await second.connect(await second.resume(handle, context()), context());
    const ran = await run(channel, "cat link; echo $PUBLIC $FROM");
    expect(ran.stdout.toString()).toBe("made\nvalue template\n");
  });

  it("a thread that runs out of memory is told as such, and the session goes on", async () => {
    const small = resolveSpec({ provider: "just-bash", limits: { memoryBytes: 128 * 1024 ** 2 } });
    await provider.prepare(small, context());
    const handle = await provider.start({ session, generation: 1, spec: small }, context());
    const channel = await provider.connect(handle, context());
    const script =
      'a=(); i=0; while :; do a[i]="item $i ${a[i-1]:0:2000} xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"; i=$((i+1)); done';
    const { end } = await run(channel, request(script, { timeoutMs: 100_000 }));
    expect(end.outcome).toEqual({ kind: "signaled", signal: "SIGKILL", exitCode: 137, oom: true });
    expect((await run(channel, "echo alive")).stdout.toString()).toBe("alive\n");
  }, 120_000);

  it("more calls than threads wait for their turn; a waiting one can be killed", async () => {
    const narrow = await create(stateDir, { maxThreads: 1 });
    await narrow.prepare(spec, context());
    const handle = await narrow.start({ session, generation: 1, spec }, context());
    const channel = await narrow.connect(handle, context());
    const first = request("sleep 2; echo first");
    const second = request("echo second");
    const third = request("echo third");
    for (const call of [first, second, third]) await channel.run(call);
    await channel.kill(second.callId, { graceMs: 0, cause: "cancelCall" });
    expect((await run(channel, second)).end.outcome).toEqual({ kind: "cancelled", by: "cancelCall" });
    expect((await run(channel, third)).stdout.toString()).toBe("third\n");
    expect((await run(channel, first)).stdout.toString()).toBe("first\n");
  });

  it("refuses images, Dockerfiles and a workspace in a simulated directory, by field", () => {
    const cases = {
      "spec.template.image": { template: { image: "debian" } },
      "spec.template.dockerfile": { template: { dockerfile: { text: "FROM x" } } },
      "spec.workspace": { workspace: "/dev/x" },
    };
    for (const [field, changes] of Object.entries(cases)) {
      const checked = (): void => {
        provider.check(resolveSpec({ provider: "just-bash", ...changes }));
      };
      expect(checked, field).toThrow(expect.objectContaining({ field }));
    }
  });
});
