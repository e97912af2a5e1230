import { execFileSync, spawn } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Handle } from "../../../src/contract/sandbox.js";
import type { Channel } from "../../../src/providers/channel.js";
import { describeDocker } from "../../support/describe-docker.js";
import { context, docker } from "../../support/docker-engine.js";
import { createDockerBench } from "../../support/docker-session.js";
import { followToEnd, runCommand, startCommand } from "../../support/run-command.js";

const connectCommand = ["/usr/local/bin/holdfast-guest", "connect"];

describeDocker("attacks that broke a bash runner", () => {
  const bench = createDockerBench();
  let handle: Handle;
  let channel: Channel;
  beforeAll(async () => {
    await bench.setUp();
    handle = await bench.start();
    channel = await bench.open(handle);
  });
  afterAll(() => bench.cleanUp());
  const sh = async (script: string): Promise<string> => (await runCommand(channel, script)).stdout;

  it("opening /dev/stdout in mid-output cuts nothing off", async () => {
    const script =
      "echo one; echo two >/dev/stdout; echo three >>/proc/self/fd/1; echo err >/dev/stderr; echo four";
    const { stdout, stderr } = await runCommand(channel, script);
    expect([stdout, stderr]).toEqual(["one\ntwo\nthree\nfour\n", "err\n"]);
  });

  it("no record can be forged and nothing of the guest read through /proc", async () => {
    const script = `
      for fd in /proc/1/fd/*; do cat "$fd" && echo "read $fd"; echo forged >"$fd" && echo "wrote $fd"; done
      cat /proc/1/environ /proc/1/mem /proc/1/maps && echo read-1; ls /proc/1/cwd/ /proc/1/root/ && echo listed
      kill -0 1 && echo signalled; kill -9 1; kill -STOP 1; exit 9`;
    const { end, stdout } = await runCommand(channel, script);
    expect(stdout).toBe("");
    expect(end.outcome).toEqual({ kind: "exited", exitCode: 9 });
    expect(await sh("echo alive")).toBe("alive\n");
  });

  it("the spool, its socket and what earlier calls left are out of reach", async () => {
    await runCommand(channel, "echo secret-of-an-earlier-call; : mark-in-script", { callId: "earlier" });
    const script = `
      ls -la /var/lib/holdfast && echo listed; cat /var/lib/holdfast/calls/*/* && echo read
      find / -xdev -user 1000 -newer /etc/hostname -not -path '/proc/*' -type f 2>/dev/null
      python3 -c "import socket; socket.socket(socket.AF_UNIX).connect('/var/lib/holdfast/guest.sock')" && echo connected
      ${connectCommand.join(" ")} </dev/null && echo bridged
      grep -rs secret-of-an-earlier /tmp /dev/shm /run /home /workspace && echo found
      true`;
    expect(await sh(script)).toBe("");
  });

  it("a command inherits no descriptor but its own three", async () => {
    // By name and not by listing: a listing has a descriptor of its own.
    expect(await sh("for fd in {0..256}; do [ -e /proc/$$/fd/$fd ] && echo -n $fd,; done; true")).toBe(
      "0,1,2,",
    );
    const links = await sh("readlink /proc/$$/fd/0 /proc/$$/fd/1 /proc/$$/fd/2");
    expect(links).toMatch(/^\/dev\/null\npipe:\[\d+\]\npipe:\[\d+\]\n$/);
  });

  it("kill -9 -1 ends the session's own processes and not the guest", async () => {
    const { started, done } = startCommand(channel, "sleep 600", { callId: "bystander" });
    await started;
    const { end } = await runCommand(channel, "kill -9 -1; echo survived");
    expect(["exited", "signaled"]).toContain(end.outcome.kind);
    expect((await done).end.outcome).toMatchObject({ kind: "signaled", signal: "SIGKILL" });
    expect(await sh("echo alive")).toBe("alive\n");
  });

  it("a request that is cut off in the middle claims and starts nothing", async () => {
    const script = "touch /workspace/ran-truncated";
    const payload = `${script}; echo and more`;
    const header = {
      id: 1,
      op: "run",
      callId: "truncated",
      cwd: "/workspace",
      timeoutMs: 10_000,
      outputLimitBytes: 1000,
      envBytes: 0,
      sha256: "0".repeat(64),
      bytes: payload.length,
    };
    const client = spawn("docker", ["exec", "-i", "-u", "0", handle.sandboxId, ...connectCommand]);
    await new Promise((resolve) => client.stdout.once("data", resolve));
    client.stdin.write(`${JSON.stringify(header)}\n${script}`);
    await sleep(300);
    client.kill("SIGKILL");
    await sleep(500);
    expect((await channel.calls()).map(({ callId }) => callId)).not.toContain("truncated");
    expect(await sh("ls /workspace")).not.toContain("ran-truncated");
  });

  it("a channel that is stuck holds up no other, and what it was owed comes again", async () => {
    const callId = "stuck";
    const script = "head -c 200000000 /dev/zero; echo END >&2";
    const client = spawn("docker", ["exec", "-i", "-u", "0", handle.sandboxId, ...connectCommand], {
      detached: true,
    });
    await new Promise((resolve) => client.stdout.once("data", resolve));
    client.stdout.pause();
    process.kill(-(client.pid ?? 0), "SIGSTOP");
    const first = startCommand(channel, script, { callId, timeoutMs: 120_000 });
    await first.started;
    client.stdin.write(
      `${JSON.stringify({ id: 1, op: "follow", callId, stdout: 0, stderr: 0, credit: 200_000_000 })}\n`,
    );
    const before = performance.now();
    expect(await sh("echo beside")).toBe("beside\n");
    expect(performance.now() - before).toBeLessThan(5_000);
    const { end, stderr } = await first.done;
    expect(end.outcome).toEqual({ kind: "exited", exitCode: 0 });
    expect([end.totals.stdout, stderr]).toEqual([200_000_000, "END\n"]);
    process.kill(-(client.pid ?? 0), "SIGKILL");
    let bytes = 0;
    const again = await bench.provider().connect(handle, context());
    await again.follow(callId, {
      from: { stdout: 0, stderr: 0 },
      signal: new AbortController().signal,
      onOutput: (_stream, piece) => {
        bytes += piece.length;
      },
    });
    expect(bytes).toBe(200_000_004);
    await again.close();
  }, 120_000);

  it("B06 [out-memory] 700 MB pass through without staying, and a command nobody reads is not blocked", async () => {
    const before = process.memoryUsage().rss;
    let peak = before;
    let bytes = 0;
    let tail = "";
    const script = "yes | head -c 700000000; echo TAILMARK; echo WHY >&2; exit 3";
    await channel.run({
      callId: "b06",
      script,
      cwd: "/workspace",
      env: {},
      timeoutMs: 300_000,
      outputLimitBytes: 1024 ** 3,
    });
    const end = await channel.follow("b06", {
      from: { stdout: 0, stderr: 0 },
      signal: new AbortController().signal,
      onOutput: (_stream, piece) => {
        bytes += piece.length;
        tail = `${tail}${Buffer.from(piece.subarray(-100)).toString()}`.slice(-200);
        peak = Math.max(peak, process.memoryUsage().rss);
      },
    });
    expect(end.outcome).toEqual({ kind: "exited", exitCode: 3 });
    expect(bytes).toBe(700_000_000 + 9 + 4);
    expect(tail).toContain("TAILMARK");
    expect((peak - before) / 1024 ** 2).toBeLessThan(100);
    await channel.acknowledge(["b06"]);
  }, 300_000);

  it("output beyond its limit ends the command, with nobody reading", async () => {
    const options = { callId: "flood", outputLimitBytes: 1_000_000, timeoutMs: 60_000 };
    const request = { cwd: "/workspace", env: {}, script: "yes", ...options };
    await channel.run(request);
    const { end, stdout } = await followToEnd(channel, "flood");
    expect(end.outcome).toEqual({ kind: "output-limit", stream: "stdout", limitBytes: 1_000_000 });
    expect(stdout.length).toBe(1_000_000);
  });

  it("a fork bomb at the limit of processes is ended, through a channel opened while it rages", async () => {
    const small = await bench.start({ pids: 128 });
    const own = await bench.provider().connect(small, context());
    const bomb = startCommand(own, "f() { f | f & }; f; sleep 600", { callId: "bomb", timeoutMs: 60_000 });
    await bomb.started;
    await sleep(2_000);
    // The one who started it is gone: a new worker must get in and end it.
    await own.close();
    const rescue = await bench.provider().connect(small, context());
    await rescue.kill("bomb", { graceMs: 500, cause: "cancelCall" });
    expect(
      (await runCommand(rescue, "echo after; ps -e -o comm= | grep -c '^bash$' || true")).stdout,
    ).toMatch(/^after\n[01]\n$/);
    await rescue.close();
    expect(await docker("inspect", "-f", "{{.HostConfig.PidsLimit}}", small.sandboxId)).toBe("192");
    await bench.remove(small);
  }, 90_000);

  it("a sandbox without a free process is entered by a loan, which is given back", async () => {
    const full = await bench.start();
    // Whatever number: at 1 not even the engine's own helper starts, with a few more the guest's bridge fails.
    for (const pids of ["1", "30", "33"]) {
      await docker("update", "--pids-limit", pids, full.sandboxId);
      await (await bench.provider().connect(full, context())).close();
      expect(await docker("inspect", "-f", "{{.HostConfig.PidsLimit}}", full.sandboxId)).toBe(pids);
    }
    await bench.remove(full);
  });

  it("no process of a sandbox and no client is left on the host when all is removed", async () => {
    const own = await bench.start();
    await bench.use(own, async (theirs) => {
      await startCommand(theirs, "exec -a left-over-marker sleep 600", { callId: "left" }).started;
    });
    await bench.remove(own);
    const found = execFileSync("sh", ["-c", "pgrep -af 'left-over-marke[r]' || true"]).toString();
    expect(found).toBe("");
    expect(
      execFileSync("sh", [
        "-c",
        `pgrep -af 'exec.*${own.sandboxId.slice(0, 20)}' | grep -v pgrep || true`,
      ]).toString(),
    ).toBe("");
  });
});
