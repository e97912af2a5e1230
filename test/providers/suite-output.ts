import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import type { OutputStream } from "../../src/providers/channel.js";
import { Bench, bytes, follow, quote, request, run, type Subject } from "./subject.js";

export function outputCases(subject: Subject): void {
  const bench = new Bench(subject);
  const { commands } = subject;

  bench.case("offsets", "any offset gives exactly the rest", {}, async () => {
    const { channel } = await bench.open();
    const text = "0123456789".repeat(20_000);
    const call = request(commands.print({ stdout: text, stderr: "tail" }));
    const whole = await run(channel, call);
    expect(whole.stdout.toString()).toBe(text);
    for (const offset of [1, 65_535, 65_536, 199_999, 200_000]) {
      const rest = await follow(channel, call.callId, { stdout: offset, stderr: 4 });
      expect(rest.stdout.toString()).toBe(text.slice(offset));
      expect(rest.stderr).toHaveLength(0);
      expect(rest.end).toEqual(whole.end);
    }
  });

  bench.case(
    "back-pressure",
    "the next piece waits for the receiver, and no piece is large",
    {},
    async () => {
      const { channel } = await bench.open();
      const call = request(commands.print({ stdout: "x".repeat(300_000) }));
      await run(channel, call);
      let inside = 0;
      let most = 0;
      let largest = 0;
      await channel.follow(call.callId, {
        from: { stdout: 0, stderr: 0 },
        signal: new AbortController().signal,
        async onOutput(_stream: OutputStream, piece: Uint8Array) {
          most = Math.max(most, ++inside);
          largest = Math.max(largest, piece.length);
          await sleep(20);
          inside--;
        },
      });
      expect(most).toBe(1);
      expect(largest).toBeLessThanOrEqual(64 * 1024);
    },
  );

  bench.case("output-limit", "each stream has a limit, and the outcome names it", {}, async () => {
    const { channel } = await bench.open();
    const script = commands.print({ stdout: "y".repeat(5000), stderr: "e" });
    const ran = await run(channel, request(script, { outputLimitBytes: 1000 }));
    expect(ran.end.outcome).toEqual({ kind: "output-limit", stream: "stdout", limitBytes: 1000 });
    expect(ran.stdout.length).toBeLessThanOrEqual(1000);
    expect(ran.end.totals.stdout).toBe(ran.stdout.length);
    const fits = await run(channel, request(script, { outputLimitBytes: 5000 }));
    expect(fits.end.outcome).toEqual({ kind: "exited", exitCode: 0 });
  });

  bench.case(
    "B01",
    "[out-utf8] a character whose bytes come apart arrives whole",
    { shell: true },
    async () => {
      const { channel } = await bench.open();
      const slow = (redirect: string): string =>
        `printf 'caf\\303'${redirect}; sleep .3; printf '\\251 \\342\\230'${redirect}; sleep .3; printf '\\225\\n'${redirect}`;
      const stdout = await run(channel, slow(""));
      expect(stdout.stdout.toString()).toBe("café ☕\n");
      const stderr = await run(channel, slow(" >&2"));
      expect(stderr.stderr.toString()).toBe("café ☕\n");
    },
  );

  bench.case("B01-large", "[out-utf8] 100,000 wide characters", { shell: true }, async () => {
    const { channel } = await bench.open();
    const script = "printf x; yes ☕ | tr -d '\\n' | head -c 300000";
    expect((await run(channel, script)).stdout.toString()).toBe(`x${"☕".repeat(100_000)}`);
  });

  bench.case(
    "text",
    "text of all kinds comes through as UTF-8, on both streams",
    { shell: true },
    async () => {
      const { channel } = await bench.open();
      for (const text of ["é", "naïve café", "日本語 🎉", "tab\tand\\backslash", "e\u0301"]) {
        const ran = await run(channel, `cat <<'EOF'\n${text}\nEOF\nprintf '%s\\n' ${quote(text)} >&2`);
        expect(ran.stdout.toString("utf8")).toBe(`${text}\n`);
        expect(ran.stderr.toString("utf8")).toBe(`${text}\n`);
      }
    },
  );

  bench.case(
    "text-ambiguous",
    "text that looks like bytes comes through as text",
    { shell: true },
    async () => {
      const { channel } = await bench.open();
      for (const text of ["Ã©", "ÿ\u0080"]) {
        const { stdout } = await run(channel, `printf %s ${quote(text)}`);
        expect(stdout.toString("utf8")).toBe(text);
      }
    },
  );

  bench.case("text-ambiguous-stderr", "and so it does on stderr", { shell: true }, async () => {
    const { channel } = await bench.open();
    for (const text of ["Ã©", "ÿ\u0080"]) {
      const { stderr } = await run(channel, `printf %s ${quote(text)} >&2`);
      expect(stderr.toString("utf8")).toBe(text);
    }
  });

  bench.case("binary", "bytes that are no text come through as they are", { shell: true }, async () => {
    const { channel } = await bench.open();
    const content = Uint8Array.from({ length: 4096 }, (_, index) => (index * 7 + (index >> 8)) & 0xff);
    await channel.files.write("/workspace/noise.bin", bytes(content), {});
    for (const script of ["cat noise.bin", "echo é; cat noise.bin", "cat < noise.bin | head -c 4096"]) {
      const ran = await run(channel, script);
      const expected = script.startsWith("echo") ? Buffer.concat([Buffer.from("é\n"), content]) : content;
      expect(hash(ran.stdout), script).toBe(hash(expected));
    }
  });

  bench.case(
    "binary-printf",
    "bytes written by printf come through as they are",
    { shell: true },
    async () => {
      const { channel } = await bench.open();
      expect([...(await run(channel, "printf '\\377\\376\\n'")).stdout]).toEqual([0xff, 0xfe, 0x0a]);
    },
  );

  bench.case(
    "binary-files",
    "bytes that are no text pass through pipes, filters and redirects",
    { shell: true },
    async () => {
      const { channel } = await bench.open();
      const content = Buffer.concat([
        Buffer.from("caf\xe9 one\nna\xefve two\n", "latin1"),
        Buffer.from("\ufeffü\n"),
      ]);
      await channel.files.write("/workspace/mixed.txt", bytes(content), {});
      const script =
        "cat mixed.txt | tail -n 5 > copy.txt; sed -i s/one/eins/ copy.txt; cat copy.txt | wc -c; cat copy.txt";
      const { stdout } = await run(channel, script);
      const expected = Buffer.concat([
        Buffer.from("caf\xe9 eins\nna\xefve two\n", "latin1"),
        Buffer.from("\ufeffü\n"),
      ]);
      expect(stdout.toString("latin1")).toBe(`${expected.length}\n${expected.toString("latin1")}`);
    },
  );

  bench.case("latin1", "a Latin-1 file is printed byte for byte", { shell: true }, async () => {
    const { channel } = await bench.open();
    const content = Buffer.from("caf\xe9\n", "latin1");
    await channel.files.write("/workspace/latin1.txt", bytes(content), {});
    expect([...(await run(channel, "cat latin1.txt")).stdout]).toEqual([...content]);
  });

  bench.case(
    "devices",
    "/dev/null, /dev/stdout and /dev/stderr are what scripts expect",
    { shell: true },
    async () => {
      const { channel } = await bench.open();
      const script =
        "echo gone >/dev/null; cat </dev/null; echo out >/dev/stdout; echo err >/dev/stderr; ls /bin >/dev/null && echo bin";
      const ran = await run(channel, script);
      expect(ran.stdout.toString()).toBe("out\nbin\n");
      expect(ran.stderr.toString()).toBe("err\n");
    },
  );

  bench.case("live", "output is there while the command runs", {}, async () => {
    const { channel } = await bench.open();
    const call = request(commands.wait(5000, "early"));
    await channel.run(call);
    const startedAtMs = Date.now();
    let seenAfterMs = Number.POSITIVE_INFINITY;
    await channel.follow(call.callId, {
      from: { stdout: 0, stderr: 0 },
      signal: new AbortController().signal,
      onOutput() {
        seenAfterMs = Math.min(seenAfterMs, Date.now() - startedAtMs);
      },
    });
    expect(seenAfterMs).toBeLessThan(4000);
  });
}

const hash = (content: Uint8Array): string => createHash("sha256").update(content).digest("hex");
