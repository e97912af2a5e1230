import { afterAll, beforeAll, expect, it } from "vitest";
import type { Handle } from "../../../src/contract/sandbox.js";
import type { Channel } from "../../../src/providers/channel.js";
import { describeDocker } from "../../support/describe-docker.js";
import { docker } from "../../support/docker-engine.js";
import { createDockerBench } from "../../support/docker-session.js";
import { runCommand, startCommand } from "../../support/run-command.js";

describeDocker("commands through the guest", () => {
  const bench = createDockerBench();
  let handle: Handle;
  let channel: Channel;
  beforeAll(async () => {
    await bench.setUp();
    handle = await bench.start();
    channel = await bench.open(handle);
  });
  afterAll(() => bench.cleanUp());
  const processes = async (pattern: string): Promise<string> =>
    (await runCommand(channel, `pgrep -af '${pattern}' | grep -v pgrep || true`)).stdout;

  it("B01 [out-utf8] bytes that arrive in pieces stay what they are, on both streams", async () => {
    const script = `p() { printf 'caf\\303'; sleep .3; printf '\\251 \\342\\230'; sleep .3; printf '\\225\\n'; }; p & p >&2; wait`;
    const { stdout, stderr } = await runCommand(channel, script);
    expect([stdout, stderr]).toEqual(["café ☕\n", "café ☕\n"]);
    const long = await runCommand(channel, "printf x; yes ☕ | tr -d '\\n' | head -c 300000");
    expect(long.stdout).toBe(`x${"☕".repeat(100_000)}`);
  });

  it("B04 [out-tail] no run loses its output, 300 short ones and 50 of half a megabyte", async () => {
    // Something else keeps a core busy meanwhile.
    const load = startCommand(channel, "while :; do :; done", { callId: "load", timeoutMs: 120_000 });
    await load.started;
    for (let round = 0; round < 300; round += 10) {
      const runs = Array.from({ length: 10 }, () => runCommand(channel, "echo running in container"));
      for (const { stdout, end } of await Promise.all(runs)) {
        expect(stdout).toBe("running in container\n");
        expect(end.outcome).toEqual({ kind: "exited", exitCode: 0 });
      }
    }
    for (let round = 0; round < 50; round += 1) {
      const script = "head -c 500000 /dev/zero | tr '\\0' z; echo END";
      const { stdout } = await runCommand(channel, script);
      expect(stdout.length).toBe(500_004);
      expect(stdout.endsWith("zEND\n")).toBe(true);
    }
    await channel.kill("load", { graceMs: 100, cause: "cancelCall" });
  }, 180_000);

  it("B08 [out-timeout] a timed-out command keeps what it said", async () => {
    const before = performance.now();
    const result = await runCommand(channel, "echo partial; echo warn >&2; sleep 30", { timeoutMs: 1_000 });
    expect(result.end.outcome).toEqual({ kind: "timed-out", timeoutMs: 1_000 });
    expect([result.stdout, result.stderr]).toEqual(["partial\n", "warn\n"]);
    expect(performance.now() - before).toBeLessThan(8_000);
  });

  it.each([
    ["cat", "", 0],
    ["read x; echo rc=$?", "rc=1\n", 0],
    ["cat <<'EOF'\nhi\nEOF\nread y; echo rc=$?", "hi\nrc=1\n", 0],
    ["grep foo", "", 1],
    ["sleep 30 & read x; echo rc=$?", "rc=1\n", 0],
    ["python3 -c 'input()' 2>/dev/null; echo rc=$?", "rc=1\n", 0],
  ])("B11 [stdin] %j meets the end of input at once", async (script, stdout, exitCode) => {
    const before = performance.now();
    const result = await runCommand(channel, script);
    expect(result.stdout).toBe(stdout);
    expect(result.end.outcome).toEqual({ kind: "exited", exitCode });
    expect(performance.now() - before).toBeLessThan(3_000);
  });

  it.each([
    // A moment, so that the fork has become what it is listed as.
    ["sleep 60 & sleep .1; echo done", /sleep 60/],
    ["sleep 60 </dev/null >/dev/null & sleep .1; echo done", /sleep 60/],
    ["(while :; do echo tick; sleep .05; done) & echo done", /./],
  ])("B13 [proc-background] %j returns, and its holder is listed", async (script, listed) => {
    const before = performance.now();
    const { stdout, end, callId } = await runCommand(channel, script);
    expect(stdout.replaceAll("tick\n", "")).toBe("done\n");
    expect(end.outcome).toEqual({ kind: "exited", exitCode: 0 });
    expect(performance.now() - before).toBeLessThan(5_000);
    expect(end.background.map(({ command }) => command).join()).toMatch(listed);

    expect((await runCommand(channel, "sleep .3; echo next")).stdout).toBe("next\n");
    await channel.kill(callId, { graceMs: 100, cause: "cancelCall" });
    expect(await processes("sleep 60|tick")).toBe("");
  });

  it.each([
    ["its own session", "setsid sleep 301 & wait"],
    ["a session with children", "setsid sh -c 'sleep 302 & sleep 303' & wait"],
    [
      "a double fork",
      `python3 -c 'import os,time; os.fork() and os._exit(0); os.setsid(); os.fork() and os._exit(0); time.sleep(304)'; sleep 305`,
    ],
    ["an empty environment", "env -i setsid sh -c 'sleep 301 & exec sleep 302' & wait"],
    ["a deaf one", `setsid bash -c 'trap "" TERM; while :; do sleep 303; done' & wait`],
  ])("B14 [proc-escape] %s does not outlive the timeout", async (_, script) => {
    const before = performance.now();
    const { end } = await runCommand(channel, script, { timeoutMs: 2_000 });
    expect(end.outcome).toEqual({ kind: "timed-out", timeoutMs: 2_000 });
    expect(performance.now() - before).toBeLessThan(10_000);
    expect(await processes("sleep.30[1-5]|time.sleep")).toBe("");
  });

  it("B15 [proc-client-dies] a command outlives the client, is found again, and dies when killed", async () => {
    const callId = "b15";
    const script = "exec -a B15 sleep 600";
    const first = await bench
      .provider()
      .connect(handle, { signal: new AbortController().signal, onProgress: () => undefined });
    await startCommand(first, script, { callId }).started;
    await first.close();

    expect((await processes("^B15 ")).trim().split("\n")).toHaveLength(1);
    const again = startCommand(channel, script, { callId });
    expect(await again.started).toEqual({ state: "attached" });
    expect((await processes("^B15 ")).trim().split("\n")).toHaveLength(1);

    const before = performance.now();
    await channel.kill(callId, { graceMs: 2_000, cause: "cancelCall" });
    expect(performance.now() - before).toBeLessThan(5_000);
    expect((await again.done).end.outcome).toEqual({ kind: "cancelled", by: "cancelCall" });
    expect(await processes("^B15 ")).toBe("");
    await channel.kill("never-seen-by-anybody", { graceMs: 0, cause: "stop" });
  });

  it("B17 [proc-zombie] nothing stays unreaped", async () => {
    const small = await bench.start({ pids: 256 });
    await bench.use(small, async (own) => {
      const script = "for i in $(seq 150); do (sleep .1 &); done; sleep 1; ps -eo stat= | grep -c '^Z'; true";
      for (let round = 0; round < 3; round += 1) {
        expect((await runCommand(own, script)).stdout).toBe("0\n");
      }
      expect((await runCommand(own, "echo ok")).stdout).toBe("ok\n");
    });
    await bench.remove(small);
  });

  it.each([
    ["kill -9 $$", { kind: "signaled", signal: "SIGKILL", exitCode: 137 }],
    ["kill -TERM $$", { kind: "signaled", signal: "SIGTERM", exitCode: 143 }],
    ["kill -INT $$", { kind: "signaled", signal: "SIGINT", exitCode: 130 }],
    ["kill -PIPE $$", { kind: "signaled", signal: "SIGPIPE", exitCode: 141 }],
    ["exit 255", { kind: "exited", exitCode: 255 }],
    ["exit 124", { kind: "exited", exitCode: 124 }],
    ["exit 137", { kind: "exited", exitCode: 137 }],
  ])("B19 [exit-signal] %s", async (script, outcome) => {
    expect((await runCommand(channel, script)).end.outcome).toEqual(outcome);
  });

  it("B22 [oom] a victim is told from a plain 137, and the session lives", async () => {
    const small = await bench.start({ memoryBytes: 128 * 1024 * 1024 });
    await bench.use(small, async (own) => {
      const child = await runCommand(own, "python3 -c 'x=bytearray(10**9)'; echo rc=$?");
      expect(child.stdout).toBe("rc=137\n");
      const main = await runCommand(own, "exec python3 -c 'x=bytearray(10**9)'");
      expect(main.end.outcome).toEqual({ kind: "signaled", signal: "SIGKILL", exitCode: 137, oom: true });
      expect((await runCommand(own, "kill -9 $$")).end.outcome).not.toHaveProperty("oom", true);
    });
    await bench.remove(small);
  });

  it("B22 [oom] when the supervisor itself dies, resume works and the running call is lost, once", async () => {
    const victim = await bench.start();
    await bench.use(victim, async (own) => {
      const { started, done } = startCommand(own, "echo begun; sleep 600", { callId: "b22" });
      await started;
      await docker("kill", victim.sandboxId);
      await expect(done).rejects.toMatchObject({ code: "unavailable" });
    });
    await bench
      .provider()
      .resume(victim, { signal: new AbortController().signal, onProgress: () => undefined });
    await bench.use(victim, async (own) => {
      const again = await runCommand(own, "echo begun; sleep 600", { callId: "b22" });
      expect(again.end.outcome.kind).toBe("lost");
      expect(again.stdout).toBe("begun\n");
      expect((await runCommand(own, "echo ok")).stdout).toBe("ok\n");
    });
    await bench.remove(victim);
  });

  it("B48 [file-argmax] large scripts and variables work, what the kernel can't pass is a typed error", async () => {
    const script = `: '${"x".repeat(200_000)}'\necho whole`;
    expect((await runCommand(channel, script)).stdout).toBe("whole\n");
    const env = { BIG: "é".repeat(50_000) };
    expect((await runCommand(channel, 'echo "${#BIG}"', { env })).stdout).toBe("50000\n");
    await expect(runCommand(channel, "true", { env: { BIG: "x".repeat(200_000) } })).rejects.toMatchObject({
      code: "too-large",
    });
    await expect(runCommand(channel, "echo a\0b")).rejects.toMatchObject({ code: "invalid-request" });
  });

  it("B71 [cred-argv] a session's value is in no argument list, on the host and inside", async () => {
    const secret = "s3cr3t-B71";
    const { started } = startCommand(channel, "sleep 5", { callId: "b71", env: { TOK: secret } });
    await started;
    const scan = "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' '";
    expect((await runCommand(channel, scan)).stdout).not.toContain(secret);
    const host = await import("node:child_process").then(({ execSync }) =>
      execSync(`${scan}; true`, { maxBuffer: 1e8 }).toString(),
    );
    expect(host).toContain("holdfast-guest");
    expect(host).not.toContain(secret);
    expect(await docker("inspect", handle.sandboxId)).not.toContain(secret);
    await channel.kill("b71", { graceMs: 0, cause: "cancelCall" });
  });

  it("B72 [cred-client-env] variables that steer clients reach the command and nobody else", async () => {
    const env = {
      DOCKER_HOST: "tcp://127.0.0.1:1",
      DOCKER_CONTEXT: "x",
      DOCKER_CONFIG: "/nope",
      PATH: "/nope",
      HTTP_PROXY: "http://127.0.0.1:1",
      LD_PRELOAD: "/x.so",
      NODE_OPTIONS: "--require /x",
      HOME: "/nope",
      BASH_ENV: "/x",
    };
    const { stdout, end } = await runCommand(
      channel,
      "while IFS= read -r -d '' v; do echo \"$v\"; done </proc/$$/environ",
      {
        env,
      },
    );
    expect(end.outcome).toEqual({ kind: "exited", exitCode: 0 });
    for (const [name, value] of Object.entries(env)) expect(stdout).toContain(`${name}=${value}\n`);
    expect((await runCommand(channel, "echo still here")).stdout).toBe("still here\n");
  });

  it("B79 [temporal-double-attempt] two attempts of one call: one process, one answer", async () => {
    const callId = "b79";
    const script = "echo s >>b79.log; sleep 2; echo e >>b79.log; echo answer";
    const other = await bench
      .provider()
      .connect(handle, { signal: new AbortController().signal, onProgress: () => undefined });
    const attempts = [channel, other, channel].map((own) => startCommand(own, script, { callId }).done);
    for (const { stdout, end } of await Promise.all(attempts)) {
      expect(stdout).toBe("answer\n");
      expect(end.outcome).toEqual({ kind: "exited", exitCode: 0 });
    }
    expect((await runCommand(channel, "cat b79.log")).stdout).toBe("s\ne\n");
    await other.close();
    await expect(runCommand(channel, "another script", { callId })).rejects.toMatchObject({
      code: "conflict",
    });
  });
});
