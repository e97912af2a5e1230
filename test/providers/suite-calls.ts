import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import { Bench, context, follow, quote, readText, request, run, type Subject } from "./subject.js";

export function callCases(subject: Subject): void {
  const bench = new Bench(subject);
  const { commands } = subject;

  bench.case("exit-code", "output, exit code and times are the command's own", {}, async () => {
    const { channel } = await bench.open();
    const before = Date.now();
    const ran = await run(channel, commands.print({ stdout: "out", stderr: "err", exitCode: 3 }));
    expect(ran.state).toBe("started");
    expect(ran.end.outcome).toEqual({ kind: "exited", exitCode: 3 });
    expect([ran.stdout.toString(), ran.stderr.toString()]).toEqual(["out", "err"]);
    expect(ran.end.totals).toEqual({ stdout: 3, stderr: 3 });
    expect(ran.end.startedAtMs).toBeGreaterThan(before - 60_000);
    expect(ran.end.endedAtMs).toBeGreaterThanOrEqual(ran.end.startedAtMs);
  });

  bench.case(
    "B19",
    "[exit-signal] exit codes of the user's own are plain codes",
    { shell: true },
    async () => {
      const { channel } = await bench.open();
      for (const exitCode of [0, 1, 124, 126, 127, 137, 255]) {
        const { end } = await run(channel, `exit ${exitCode}`);
        expect(end.outcome).toEqual({ kind: "exited", exitCode });
      }
    },
  );

  bench.case(
    "B19-signals",
    "[exit-signal] a death by signal is 128 + its number, never 0",
    { shell: true },
    async () => {
      const { channel } = await bench.open();
      const cases = { KILL: 137, TERM: 143, INT: 130, PIPE: 141 };
      for (const [signal, exitCode] of Object.entries(cases)) {
        const { end } = await run(channel, `kill -${signal} $$`);
        expect(end.outcome).toMatchObject({ kind: "signaled", signal: `SIG${signal}`, exitCode });
      }
    },
  );

  bench.case(
    "at-most-once",
    "the same id again attaches, whatever it is asked at once",
    { shell: true },
    async () => {
      const { channel } = await bench.open();
      const call = request("echo x >> once.txt; echo done");
      const states = await Promise.all([1, 2, 3, 4, 5].map(() => channel.run(call)));
      expect(states.filter(({ state }) => state === "started")).toHaveLength(1);
      const ran = await run(channel, call);
      expect(ran).toMatchObject({ state: "attached", end: { outcome: { kind: "exited", exitCode: 0 } } });
      expect(ran.stdout.toString()).toBe("done\n");
      expect(await readText(channel, "/workspace/once.txt")).toBe("x\n");
    },
  );

  bench.case("conflict", "the same id with another script is refused and starts nothing", {}, async () => {
    const { channel } = await bench.open();
    const call = request(commands.print({ stdout: "one" }));
    await run(channel, call);
    const other = { ...call, script: commands.print({ stdout: "two" }) };
    await expect(channel.run(other)).rejects.toMatchObject({ code: "conflict" });
    expect((await run(channel, call)).stdout.toString()).toBe("one");
  });

  bench.case("cannot-start", "a missing cwd is named, and recorded under its claim", {}, async () => {
    const { channel } = await bench.open();
    const call = request(commands.print({}), { cwd: "/workspace/missing" });
    for (let attempt = 0; attempt < 2; attempt++) {
      await expect(channel.run(call)).rejects.toMatchObject({
        code: "cannot-start",
        message: expect.stringContaining("/workspace/missing") as string,
      });
    }
    const { end } = await follow(channel, call.callId);
    expect(end.outcome).toMatchObject({ kind: "error", error: { code: "cannot-start" } });
  });

  bench.case("nul", "a script with NUL is refused before anything", {}, async () => {
    const { channel } = await bench.open();
    await expect(channel.run(request("echo a\0b"))).rejects.toMatchObject({ code: "invalid-request" });
  });

  bench.case(
    "cwd-env",
    "a call has its own directory and variables, and leaves none behind",
    { shell: true },
    async () => {
      const { channel } = await bench.open();
      await run(channel, "mkdir -p sub; export LEFT=over; cd sub");
      const env = { GREETING: "hei & $HOME 'x'\nzwei", HOME: "/workspace/sub" };
      const there = await run(
        channel,
        request('printf "%s|%s|%s" "$PWD" "$GREETING" "$HOME"', { cwd: "/workspace/sub", env }),
      );
      expect(there.stdout.toString()).toBe(`/workspace/sub|${env.GREETING}|${env.HOME}`);
      const next = await run(channel, 'printf "%s|%s" "$PWD" "$LEFT"');
      expect(next.stdout.toString()).toBe("/workspace|");
    },
  );

  bench.case(
    "B48",
    "[file-argmax] a long script and a long variable come through",
    { shell: true },
    async () => {
      const { channel } = await bench.open();
      const text = "x".repeat(200 * 1024);
      const byScript = await run(channel, `printf %s ${quote(text)} | wc -c`);
      expect(byScript.stdout.toString().trim()).toBe(String(text.length));
    },
  );

  bench.case("B11", "[stdin] is at its end at once", { shell: true }, async () => {
    const { channel } = await bench.open();
    for (const script of [
      "cat",
      "read x; echo rc=$?",
      "cat <<'EOF'\nhi\nEOF\nread y; echo rc=$?",
      "grep foo",
    ]) {
      const ran = await run(channel, request(script, { timeoutMs: 20_000 }));
      expect(ran.end.outcome.kind, script).toBe("exited");
      if (script.includes("rc=")) expect(ran.stdout.toString()).toMatch(/rc=1\n$/);
    }
  });

  bench.case(
    "B13",
    "[proc-background] a background job that holds the output does not hold the call",
    { shell: true },
    async () => {
      const { channel } = await bench.open();
      for (const script of ["sleep 60 & echo done", "sleep 60 </dev/null >/dev/null & echo done"]) {
        const ran = await run(channel, request(script, { timeoutMs: 30_000 }));
        expect(ran.end.outcome).toEqual({ kind: "exited", exitCode: 0 });
        expect(ran.stdout.toString()).toBe("done\n");
      }
    },
  );

  bench.case("timeout", "ends the call and says so", {}, async () => {
    const { channel } = await bench.open();
    const ran = await run(channel, request(commands.wait(60_000), { timeoutMs: 500 }));
    expect(ran.end.outcome).toEqual({ kind: "timed-out", timeoutMs: 500 });
    expect(ran.end.endedAtMs - ran.end.startedAtMs).toBeLessThan(20_000);
  });

  bench.case("B08", "[out-timeout] what was printed before a timeout is kept", { shell: true }, async () => {
    const { channel } = await bench.open();
    const ran = await run(channel, request("echo partial; echo warn >&2; sleep 30", { timeoutMs: 1000 }));
    expect(ran.end.outcome).toEqual({ kind: "timed-out", timeoutMs: 1000 });
    expect([ran.stdout.toString(), ran.stderr.toString()]).toEqual(["partial\n", "warn\n"]);
  });

  bench.case(
    "B65",
    "[justbash-loop] an endless loop ends at its timeout, others are served meanwhile",
    { shell: true },
    async () => {
      const [busy, other] = await Promise.all([bench.open(), bench.open()]);
      const loop = run(busy.channel, request("while :; do :; done", { timeoutMs: 2000 }));
      const answered = await run(other.channel, "echo alive");
      expect(answered.stdout.toString()).toBe("alive\n");
      const { end } = await loop;
      expect(end.outcome).toEqual({ kind: "timed-out", timeoutMs: 2000 });
      expect(end.endedAtMs).toBeGreaterThan(answered.end.endedAtMs);
      for (const script of [
        "s=x; while :; do s=$s$s; done",
        `printf %s ${"a".repeat(40)}b | grep -E '(a+)+$'`,
      ]) {
        const ran = await run(busy.channel, request(script, { timeoutMs: 2000 }));
        expect(ran.end.endedAtMs - ran.end.startedAtMs, script).toBeLessThan(20_000);
      }
      expect((await run(busy.channel, "echo again")).stdout.toString()).toBe("again\n");
    },
  );

  bench.case("kill", "ends a call, tells why, and is quiet about what it doesn't know", {}, async () => {
    const { channel } = await bench.open();
    const call = request(commands.wait(60_000));
    await channel.run(call);
    await channel.kill(call.callId, { graceMs: 1000, cause: "cancelCall" });
    const { end } = await follow(channel, call.callId);
    expect(end.outcome).toEqual({ kind: "cancelled", by: "cancelCall" });
    await channel.kill(call.callId, { graceMs: 0, cause: "delete" });
    expect((await follow(channel, call.callId)).end).toEqual(end);
    await channel.kill("never-heard-of", { graceMs: 0, cause: "cancelCall" });
  });

  bench.case("follow-abort", "ends the following and not the command", {}, async () => {
    const { channel } = await bench.open();
    const call = request(commands.wait(1500, "kept"));
    await channel.run(call);
    const abort = new AbortController();
    const following = follow(channel, call.callId, undefined, abort.signal);
    await sleep(100);
    abort.abort(new Error("enough"));
    await expect(following).rejects.toThrow();
    const { end, stdout } = await follow(channel, call.callId);
    expect(end.outcome).toEqual({ kind: "exited", exitCode: 0 });
    expect(stdout.toString()).toBe("kept");
  });

  bench.case("unknown", "following an unknown call is not-found", {}, async () => {
    const { channel } = await bench.open();
    await expect(follow(channel, "never-heard-of")).rejects.toMatchObject({ code: "not-found" });
  });

  bench.case("tombstone", "an acknowledged call is never started again", { shell: true }, async () => {
    const { channel } = await bench.open();
    const call = request("echo x >> tombstone.txt");
    await run(channel, call);
    await channel.acknowledge([call.callId, "never-heard-of"]);
    await channel.acknowledge([call.callId]);
    expect((await channel.run(call)).state).toBe("attached");
    expect(await readText(channel, "/workspace/tombstone.txt")).toBe("x\n");
    await expect(channel.run({ ...call, script: "echo y" })).rejects.toMatchObject({ code: "conflict" });
    expect(await channel.calls()).toEqual([{ callId: call.callId, state: "acknowledged" }]);
  });

  bench.case("calls", "tells what is known of each call", {}, async () => {
    const { channel } = await bench.open();
    const ended = request(commands.print({ stdout: "x" }));
    const running = request(commands.wait(60_000));
    await run(channel, ended);
    await channel.run(running);
    // Not acknowledged while it runs: its record would be missed.
    await channel.acknowledge([running.callId]);
    const states = Object.fromEntries((await channel.calls()).map(({ callId, state }) => [callId, state]));
    expect(states).toEqual({ [ended.callId]: "ended", [running.callId]: "running" });
    await channel.kill(running.callId, { graceMs: 0, cause: "cancelCall" });
  });

  bench.case("parallel", "several calls of one session run at once", {}, async () => {
    const { channel } = await bench.open();
    // Threads or processes exist after the first round: only the second one is measured.
    const round = () => Promise.all([1, 2, 3, 4].map(() => run(channel, commands.wait(3000))));
    const ends = await round();
    const latestStart = Math.max(...ends.map(({ end }) => end.startedAtMs));
    const earliestEnd = Math.min(...ends.map(({ end }) => end.endedAtMs));
    expect(latestStart).toBeLessThan(earliestEnd);
  });

  bench.case("two-channels", "a call is followed and killed through another channel", {}, async () => {
    const { handle, channel } = await bench.open();
    const second = await bench.provider.connect(handle, context());
    expect(second.epoch).toBe(channel.epoch);
    const call = request(commands.wait(60_000, "both"));
    await channel.run(call);
    expect((await second.run(call)).state).toBe("attached");
    const following = follow(channel, call.callId);
    await second.kill(call.callId, { graceMs: 1000, cause: "cancelCall" });
    const here = await following;
    const there = await follow(second, call.callId);
    expect(here.end).toEqual(there.end);
    expect(here.stdout.toString()).toBe(there.stdout.toString());
  });

  bench.case("channel-closed", "a closed channel is unavailable; a new one goes on", {}, async () => {
    const { handle, channel } = await bench.open();
    const call = request(commands.print({ stdout: "x" }));
    await run(channel, call);
    await channel.close();
    expect(channel.closed).toBe(true);
    await expect(channel.run(call)).rejects.toMatchObject({ code: "unavailable" });
    const next = await bench.provider.connect(handle, context());
    expect((await run(next, call)).state).toBe("attached");
  });
}
