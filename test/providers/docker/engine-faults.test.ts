import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import type { Provider } from "../../../src/providers/provider.js";
import { createDockerProvider } from "../../../src/providers/docker/docker-provider.js";
import { describeDocker } from "../../support/describe-docker.js";
import { context, docker, guestDirectory, newSession, testEnvironment } from "../../support/docker-engine.js";
import { createDockerBench } from "../../support/docker-session.js";
import { createDockerShim, type DockerShim } from "../../support/docker-shim.js";
import { runCommand, startCommand } from "../../support/run-command.js";

describeDocker("an engine and clients that misbehave", () => {
  const bench = createDockerBench();
  const shims: DockerShim[] = [];
  beforeAll(() => bench.setUp());
  afterEach(async () => {
    for (const shim of shims.splice(0)) await shim.remove();
    // One test's failure must not be the next one's.
    for (const id of await bench.installation.containers()) await docker("rm", "-f", id);
  });
  afterAll(() => bench.cleanUp());

  const shimmed = async (body: string): Promise<{ provider: Provider; shim: DockerShim }> => {
    const shim = await createDockerShim(body);
    shims.push(shim);
    return { provider: bench.installation.provider({ command: shim.command }), shim };
  };
  const startRequest = (session = newSession()) => ({
    session,
    generation: 1,
    spec: bench.spec,
    artifact: bench.artifact(),
  });

  it.each([
    ["exit 0 after half a line", `printf '{"type":"hel'; exit 0`],
    ["killed after half a line", `printf '{"type":"hel'; kill -9 $$`],
    ["nothing at all", "exit 0"],
    ["plain text", "echo finished, exit 0"],
  ])("B10 [out-fabricated] a client that ends with %s is no channel", async (_, ending) => {
    const handle = await bench.start();
    const { provider } = await shimmed(`if [ "$1" = exec ]; then ${ending}; fi`);
    await expect(provider.connect(handle, context())).rejects.toMatchObject({ code: "unavailable" });
    await bench.remove(handle);
  });

  it("B10 [out-fabricated] the client is cut off in mid-command: interrupted, then attached to the same one", async () => {
    const handle = await bench.start();
    // The stream ends after the first output, with exit code 0, as if all were well.
    const { provider } = await shimmed(`if [ "$1" = exec ]; then
      "$real" "$@" <&0 &
      while [ ! -e "$dir/cut" ]; do sleep 0.05; done
      kill -9 $!; exit 0
    fi`);
    const channel = await provider.connect(handle, context());
    const script = "echo begun; sleep 1; echo ended; exit 4";
    const { started, done } = startCommand(channel, script, { callId: "cut" });
    await started;
    await writeFile(join(shims[0]?.directory ?? "", "cut"), "");
    await expect(done).rejects.toMatchObject({ code: "unavailable" });
    await channel.close();
    await bench.use(handle, async (own) => {
      const again = await runCommand(own, script, { callId: "cut" });
      expect(again.end.outcome).toEqual({ kind: "exited", exitCode: 4 });
      expect(again.stdout).toBe("begun\nended\n");
    });
    await bench.remove(handle);
  });

  it("B19 [exit-signal] a client killed from outside is an infrastructure error, never an exit code", async () => {
    const { provider } = await shimmed(`if [ "$1" = run ]; then kill -TERM $$; sleep 1; fi`);
    await expect(provider.start(startRequest(), context())).rejects.toMatchObject({
      code: "unavailable",
      message: /killed by SIGTERM/,
    });
  });

  it("B26 [life-concurrent] five starts and five resumes at once end on one container", async () => {
    const request = startRequest();
    const workers = Array.from({ length: 5 }, () => bench.installation.provider());
    const handles = await Promise.all(workers.map((worker) => worker.start(request, context())));
    expect(new Set(handles.map(({ sandboxId }) => sandboxId)).size).toBe(1);
    const [handle] = handles;
    if (handle === undefined) throw new Error("no handle");
    await bench.use(handle, async (channel) => {
      expect((await runCommand(channel, "echo ok")).stdout).toBe("ok\n");
    });
    await bench.provider().stop(handle, { graceMs: 0 }, context());
    const resumed = await Promise.all(workers.map((worker) => worker.resume(handle, context())));
    expect(new Set(resumed.map(({ sandboxId }) => sandboxId))).toEqual(new Set([handle.sandboxId]));
    expect(await bench.installation.containers()).toEqual([handle.sandboxId]);
    await bench.remove(handle);
  });

  it("B26 [life-concurrent] a name that is taken is adopted when it is our own, removed when it is a corpse", async () => {
    const request = startRequest();
    const first = await bench.provider().start(request, context());
    expect((await bench.provider().start(request, context())).sandboxId).toBe(first.sandboxId);
    // A late duplicate of the start after a stop must not throw the session's files away.
    await bench.provider().stop(first, { graceMs: 0 }, context());
    expect((await bench.provider().start(request, context())).sandboxId).toBe(first.sandboxId);
    await bench.remove(first);

    const name = String(first.data["containerName"]);
    const { provider } = await shimmed(`if [ "$1" = run ] && [ ! -e "$dir/done" ]; then
      touch "$dir/done"; args=()
      for arg in "\${@:3}"; do [ "$arg" != /usr/local/bin/holdfast-guest ] || arg=/nope; args+=("$arg"); done
      "$real" create "\${args[@]}" >/dev/null
    fi`);
    const second = await provider.start(request, context());
    expect(second.sandboxId).not.toBe(first.sandboxId);
    expect(await docker("inspect", "-f", "{{.State.Status}} {{.Path}}", name)).toBe(
      "running /usr/local/bin/holdfast-guest",
    );
    await bench.remove(second);
  });

  it("a foreign container under our name is named and left alone", async () => {
    const request = startRequest();
    const first = await bench.provider().start(request, context());
    await bench.remove(first);
    const name = String(first.data["containerName"]);
    const foreign = await docker("create", "--name", name, "holdfast-base:bookworm", "true");
    await expect(bench.provider().start(request, context())).rejects.toMatchObject({
      code: "conflict",
      message: new RegExp(foreign.slice(0, 12)),
    });
    expect(await docker("inspect", "-f", "{{.State.Status}}", foreign)).toBe("created");
    await docker("rm", foreign);
  });

  it("B27 [life-stuck] a remove in the middle of a slow create takes what lands later with it", async () => {
    const { provider, shim } = await shimmed(`if [ "$1" = run ]; then sleep 3; fi`);
    const session = newSession();
    const starting = provider.start(startRequest(session), context());
    starting.catch(() => undefined);
    while (!(await shim.calls().catch(() => [])).some((call) => call.startsWith("run"))) await sleep(50);
    await provider.remove({ session, upToGeneration: 1 }, context());
    await expect(starting).rejects.toMatchObject({ code: "closed" });
    expect(await bench.installation.containers()).toEqual([]);
  });

  it("B27 [life-stuck] an aborted slow create is undone when it lands", async () => {
    const { provider } = await shimmed(`if [ "$1" = run ]; then sleep 2; fi`);
    const abort = new AbortController();
    setTimeout(() => {
      abort.abort();
    }, 500);
    await expect(provider.start(startRequest(), context(abort.signal))).rejects.toMatchObject({
      code: "unavailable",
    });
    expect(await bench.installation.containers()).toEqual([]);
  });

  it("B27 [life-stuck] a container that was created and never started can be stopped and removed", async () => {
    const handle = await bench.start();
    const labels = JSON.parse(
      await docker("inspect", "-f", "{{json .Config.Labels}}", handle.sandboxId),
    ) as Record<string, string>;
    await bench.remove(handle);
    const flags = Object.entries(labels).flatMap(([key, value]) => ["--label", `${key}=${value}`]);
    const created = await docker("create", ...flags, "holdfast-base:bookworm", "true");
    await bench.provider().stop({ ...handle, sandboxId: created }, { graceMs: 0 }, context());
    await bench.remove(handle);
    expect(await bench.installation.containers()).toEqual([]);
  });

  it("B29 [life-generation] a session created again under its id never sees the earlier one's files", async () => {
    const first = await bench.start();
    await bench.use(first, (channel) => runCommand(channel, "touch gen1"));
    const { provider } = await shimmed(`if [ "$1" = rm ]; then sleep 2; fi`);
    const removing = provider.remove({ session: first.session, upToGeneration: 1 }, context());
    const again = { ...first.session, runId: "another-run" };
    const second = await bench.provider().start(startRequest(again), context());
    const third = await bench.provider().start({ ...startRequest(first.session), generation: 2 }, context());
    for (const handle of [second, third]) {
      expect(handle.sandboxId).not.toBe(first.sandboxId);
      await bench.use(handle, async (channel) => {
        expect((await runCommand(channel, "ls /workspace")).stdout).toBe("");
      });
    }
    await removing;
    // The removal of generation 1 left the later ones alone.
    expect(new Set(await bench.installation.containers())).toEqual(
      new Set([second.sandboxId, third.sandboxId]),
    );
    await bench.remove(second);
    await bench.remove(third);
  });

  it("B32 [life-rm-race] a removal that somebody else does is waited for", async () => {
    const handle = await bench.start();
    const { provider } = await shimmed(`if [ "$1" = rm ]; then
      ( sleep 2; "$real" rm -f "\${@: -1}" ) >/dev/null 2>&1 &
      echo "Error response from daemon: removal of container \${@: -1} is already in progress" >&2; exit 1
    fi`);
    const before = performance.now();
    await provider.remove({ session: handle.session, upToGeneration: 1 }, context());
    expect(performance.now() - before).toBeGreaterThan(1_500);
    expect(await bench.installation.containers()).toEqual([]);
  });

  it("B32 [life-rm-race] what is gone already is removed", async () => {
    const handle = await bench.start();
    const { provider } = await shimmed(`if [ "$1" = rm ]; then
      "$real" rm -f "\${@: -1}" >/dev/null; echo "Error: No such container: x" >&2; exit 1
    fi`);
    await provider.remove({ session: handle.session, upToGeneration: 1 }, context());
    const other = await bench.start();
    await Promise.all([bench.remove(other), bench.remove(other), bench.remove(other)]);
    expect(await bench.installation.containers()).toEqual([]);
  });

  it("B32 [life-rm-race] a removal that fails is not counted as done", async () => {
    const handle = await bench.start();
    const { provider } = await shimmed(`if [ "$1" = rm ]; then echo "driver failed" >&2; exit 1; fi`);
    await expect(
      provider.remove({ session: handle.session, upToGeneration: 1 }, context()),
    ).rejects.toMatchObject({ message: /driver failed/ });
    await bench.remove(handle);
  });

  it("B72 [cred-client-env] nothing of the worker's other variables reaches the client", async () => {
    const shim = await createDockerShim(`if [ "$1" = exec ]; then env >"$dir/env"; fi`);
    shims.push(shim);
    const provider = bench.installation.provider({
      command: shim.command,
      environment: {
        ...testEnvironment(),
        LD_PRELOAD: "",
        NODE_OPTIONS: "--x",
        HTTP_PROXY: "y",
        TOK: "s3cr3t",
      },
    });
    const handle = await bench.start();
    await (await provider.connect(handle, context())).close();
    const { readFile } = await import("node:fs/promises");
    const names = (await readFile(join(shim.directory, "env"), "utf8")).match(/^[A-Za-z_]+(?==)/gm) ?? [];
    const allowed = [
      "HOME",
      "PATH",
      "TEMP",
      "TMP",
      "TMPDIR",
      "DOCKER_HOST",
      "DOCKER_CONTEXT",
      "DOCKER_CONFIG",
    ];
    expect(names.filter((name) => ![...allowed, "_", "PWD", "SHLVL"].includes(name))).toEqual([]);
    await bench.remove(handle);
  });

  it("a client that hangs is ended with all it started", async () => {
    const { provider } = await shimmed(`if [ "$1" = exec ]; then sleep 4321; fi`);
    const handle = await bench.start();
    const abort = new AbortController();
    setTimeout(() => {
      abort.abort();
    }, 300);
    await expect(provider.connect(handle, context(abort.signal))).rejects.toMatchObject({
      code: "unavailable",
    });
    const { execSync } = await import("node:child_process");
    await sleep(200);
    expect(execSync("pgrep -f '^sleep 4321' || true").toString()).toBe("");
    await bench.remove(handle);
  });

  it("a missing engine, CLI, permission or guest is a typed error that says what to do", async () => {
    const handle = await bench.start();
    const environment = testEnvironment();
    const meet = (overrides: Partial<Parameters<typeof createDockerProvider>[0]>): Promise<unknown> =>
      createDockerProvider({
        command: "docker",
        environment,
        owner: "o",
        hostId: "h",
        guestDirectory,
        ...overrides,
      })
        .prepare(bench.spec, context())
        .catch((error: unknown) => error);

    expect(await meet({ command: "/nowhere/docker" })).toMatchObject({
      code: "unavailable",
      hint: /HOLDFAST_DOCKER/,
    });
    expect(
      await meet({ environment: { ...environment, DOCKER_HOST: "unix:///nowhere.sock" } }),
    ).toMatchObject({
      code: "unavailable",
      hint: /Start the Docker engine/,
    });
    // DOCKER_HOST would win over the context.
    const { DOCKER_HOST, ...contextual } = environment;
    expect(
      await meet({ environment: { ...contextual, DOCKER_CONTEXT: "nowhere" } }),
      `with ${DOCKER_HOST ?? "no DOCKER_HOST"} left out`,
    ).toMatchObject({
      code: "unavailable",
    });
    expect(await meet({ guestDirectory: "/nowhere" })).toMatchObject({
      code: "unavailable",
      hint: /npm run build:guest/,
    });
    const { provider } = await shimmed(
      `if [ "$1" = version ]; then echo "permission denied while trying to connect to the Docker daemon socket" >&2; exit 1; fi`,
    );
    await expect(provider.prepare(bench.spec, context())).rejects.toMatchObject({ code: "denied" });

    const directory = await mkdtemp(join(tmpdir(), "holdfast-noexec-"));
    await writeFile(join(directory, "docker"), "");
    await chmod(join(directory, "docker"), 0o644);
    expect(await meet({ command: join(directory, "docker") })).toMatchObject({ code: "denied" });
    await rm(directory, { recursive: true });
    await bench.remove(handle);
  });
});
