import { randomUUID } from "node:crypto";
import { expect } from "vitest";
import type { Channel } from "../../src/providers/channel.js";
import { Bench, bytes, readText, run, type Subject } from "./subject.js";

const all = { offset: 0, lengthBytes: 1024 ** 2 };

export function fileCases(subject: Subject): void {
  const bench = new Bench(subject);

  bench.case("write-read", "what is written is read, in parts and past the end", {}, async () => {
    const { channel } = await bench.open();
    const { files } = channel;
    const content = Uint8Array.from({ length: 200_000 }, (_, index) => index & 0xff);
    const parts = [content.subarray(0, 70_000), content.subarray(70_000)];
    expect(await files.write("/workspace/deep/er/file", bytes(...parts), {})).toEqual({
      created: true,
      sizeBytes: content.length,
    });
    const middle = await files.read("/workspace/deep/er/file", { offset: 69_990, lengthBytes: 20 });
    expect([...middle.bytes]).toEqual([...content.subarray(69_990, 70_010)]);
    expect(middle.stat).toMatchObject({ type: "file", sizeBytes: content.length });
    const past = await files.read("/workspace/deep/er/file", { offset: 300_000, lengthBytes: 20 });
    expect(past.bytes).toHaveLength(0);
    expect(await files.write("/workspace/deep/er/file", bytes(), {})).toEqual({
      created: false,
      sizeBytes: 0,
    });
    expect((await files.read("/workspace/deep/er/file", all)).bytes).toHaveLength(0);
  });

  bench.case("both-ways", "files and commands see the same", { shell: true }, async () => {
    const { channel } = await bench.open();
    await channel.files.write("/workspace/in.txt", bytes("from the host"), {});
    const ran = await run(channel, "cat in.txt; printf back > out.txt");
    expect(ran.stdout.toString()).toBe("from the host");
    expect(await readText(channel, "/workspace/out.txt")).toBe("back");
  });

  bench.case("missing", "what is not there is not-found, or undefined for stat", {}, async () => {
    const { files } = (await bench.open()).channel;
    await expect(files.read("/workspace/no", all)).rejects.toMatchObject({ code: "not-found" });
    await expect(files.list("/workspace/no", { maxEntries: 5 })).rejects.toMatchObject({ code: "not-found" });
    expect(await files.stat("/workspace/no")).toBeUndefined();
    expect(await files.stat("/workspace/no/deeper")).toBeUndefined();
  });

  bench.case("not-a-file", "a directory is neither read nor written", {}, async () => {
    const { files } = (await bench.open()).channel;
    await files.write("/workspace/dir/file", bytes("x"), {});
    await expect(files.read("/workspace/dir", all)).rejects.toMatchObject({ code: "not-a-file" });
    await expect(files.write("/workspace/dir", bytes("x"), {})).rejects.toMatchObject({ code: "not-a-file" });
    await expect(files.list("/workspace/dir/file", { maxEntries: 5 })).rejects.toMatchObject({
      code: "not-a-file",
    });
    expect(await readText({ files } as Channel, "/workspace/dir/file")).toBe("x");
  });

  bench.case("fifo", "a FIFO is refused at once", { shell: true }, async () => {
    const { channel } = await bench.open();
    await run(channel, "mkfifo pipe");
    await expect(channel.files.read("/workspace/pipe", all)).rejects.toMatchObject({ code: "not-a-file" });
  });

  bench.case("mode", "is what was asked, and kept when a file is replaced", {}, async () => {
    const { files } = (await bench.open()).channel;
    await files.write("/workspace/tool", bytes("a"), { mode: 0o750 });
    expect((await files.stat("/workspace/tool"))?.mode).toBe(0o750);
    await files.write("/workspace/tool", bytes("b"), {});
    expect((await files.stat("/workspace/tool"))?.mode).toBe(0o750);
    await files.write("/workspace/tool", bytes("c"), { mode: 0o600 });
    expect((await files.stat("/workspace/tool"))?.mode).toBe(0o600);
  });

  bench.case("link", "a file behind a link is replaced there, the link stays", { shell: true }, async () => {
    const { channel } = await bench.open();
    await run(channel, "mkdir real; echo old > real/target; ln -s real/target link");
    await channel.files.write("/workspace/link", bytes("new"), {});
    expect(await readText(channel, "/workspace/real/target")).toBe("new");
    expect((await channel.files.stat("/workspace/link"))?.type).toBe("link");
  });

  bench.case(
    "atomic",
    "a write that fails half-way leaves the old content and nothing else",
    {},
    async () => {
      const { files } = (await bench.open()).channel;
      await files.write("/workspace/atomic/file", bytes("old"), {});
      const failing = async function* () {
        yield* bytes("new and");
        throw new Error("the source broke");
      };
      await expect(files.write("/workspace/atomic/file", failing(), {})).rejects.toThrow();
      expect(await readText({ files } as Channel, "/workspace/atomic/file")).toBe("old");
      expect((await files.list("/workspace/atomic", { maxEntries: 10 })).entries).toHaveLength(1);
    },
  );

  bench.case("recorded-write", "is done once per call, and found afterwards", {}, async () => {
    const { files } = (await bench.open()).channel;
    const record = { callId: randomUUID(), requestHash: "a".repeat(64), result: { sizeBytes: 5, note: "ü" } };
    expect(await files.recorded(record.callId, record.requestHash)).toBeUndefined();
    await files.write("/workspace/once", bytes("first"), { record });
    expect(await files.recorded(record.callId, record.requestHash)).toEqual({
      created: true,
      sizeBytes: 5,
      result: record.result,
    });
    await files.write("/workspace/once", bytes("by somebody else"), {});
    await files.write("/workspace/once", bytes("first"), { record });
    expect(await readText({ files } as Channel, "/workspace/once")).toBe("by somebody else");
    await expect(files.recorded(record.callId, "b".repeat(64))).rejects.toMatchObject({ code: "conflict" });
  });

  bench.case("list", "tells names, types and sizes, and when it stopped", {}, async () => {
    const { files } = (await bench.open()).channel;
    for (const name of ["one", "-rf", " lead", "trail ", "new\nline", "q'uote", "$(id)", "é", "e\u0301"]) {
      await files.write(`/workspace/list/${name}`, bytes("12345"), {});
    }
    await files.write("/workspace/list/sub/file", bytes(""), {});
    const { entries, truncated } = await files.list("/workspace/list", { maxEntries: 100 });
    expect(truncated).toBe(false);
    const names = entries.map((entry) => Buffer.from(entry.name).toString("utf8")).sort();
    expect(names).toEqual(
      ["one", "-rf", " lead", "trail ", "new\nline", "q'uote", "$(id)", "é", "e\u0301", "sub"].sort(),
    );
    expect(entries.find((entry) => Buffer.from(entry.name).toString() === "one")).toMatchObject({
      type: "file",
      sizeBytes: 5,
    });
    expect(entries.find((entry) => Buffer.from(entry.name).toString() === "sub")?.type).toBe("dir");
    const cut = await files.list("/workspace/list", { maxEntries: 3 });
    expect([cut.entries.length, cut.truncated]).toEqual([3, true]);
  });

  bench.case(
    "B45",
    "[file-names] a name that is not UTF-8 is listed as its bytes",
    { shell: true },
    async () => {
      const { channel } = await bench.open();
      await run(channel, "mkdir raw; touch raw/$'\\377\\376'; ln -s nowhere raw/dangling");
      const { entries } = await channel.files.list("/workspace/raw", { maxEntries: 10 });
      const names = entries.map((entry) => Buffer.from(entry.name).toString("hex")).sort();
      expect(names).toEqual([Buffer.from("dangling").toString("hex"), "fffe"].sort());
      expect(entries.find((entry) => entry.name.length > 2)?.type).toBe("link");
    },
  );

  bench.case("remove-file", "files, directories, links; force and recursive as asked", {}, async () => {
    const { files } = (await bench.open()).channel;
    await files.write("/workspace/r/a/b", bytes("x"), {});
    const plain = { recursive: false, force: false };
    await expect(files.remove("/workspace/none", plain)).rejects.toMatchObject({ code: "not-found" });
    await files.remove("/workspace/none", { recursive: false, force: true });
    await expect(files.remove("/workspace/r", plain)).rejects.toMatchObject({ code: "not-a-file" });
    await files.remove("/workspace/r/a/b", plain);
    expect(await files.stat("/workspace/r/a/b")).toBeUndefined();
    await files.remove("/workspace/r", { recursive: true, force: false });
    expect(await files.stat("/workspace/r")).toBeUndefined();
    await expect(files.remove("/workspace", { recursive: true, force: true })).rejects.toMatchObject({
      code: "denied",
    });
  });

  bench.case("paths", "bad paths are typed refusals, odd ones are just names", {}, async () => {
    const { files } = (await bench.open()).channel;
    await expect(files.read("relative", all)).rejects.toMatchObject({ code: "invalid-request" });
    await expect(files.read("/workspace/a\0b", all)).rejects.toMatchObject({ code: "invalid-request" });
    for (const path of ["/etc/passwd", "/workspace/../etc/passwd", "/workspace2/x", "/workspace/a/../../x"]) {
      const code = expect.stringMatching(/^(denied|not-found)$/) as string;
      await expect(files.read(path, all), path).rejects.toMatchObject({ code });
      await expect(files.write(path, bytes("x"), {}), path).rejects.toMatchObject({ code });
    }
    await files.write("/workspace/..foo", bytes("legal"), {});
    expect(await readText({ files } as Channel, "/workspace/./x/../..foo".replace("x/../", ""))).toBe(
      "legal",
    );
  });

  bench.case(
    "B46",
    "[file-symlink] no link leads out, for reading or for writing",
    { shell: true },
    async () => {
      const { channel } = await bench.open();
      const { files } = channel;
      await run(
        channel,
        "ln -s /etc/passwd leak; ln -s / d; ln -s /tmp/nothere w; ln -s ../../../../etc up; ln -s loop loop",
      );
      const code = expect.stringMatching(/^(denied|not-found)$/) as string;
      for (const name of ["leak", "d/etc/passwd", "up/passwd", "loop"]) {
        await expect(files.read(`/workspace/${name}`, all), name).rejects.toMatchObject({ code });
      }
      for (const name of ["leak", "d/tmp/new", "w", "up/new", "loop/x"]) {
        await expect(files.write(`/workspace/${name}`, bytes("x"), {}), name).rejects.toMatchObject({ code });
      }
      await expect(files.list("/workspace/d", { maxEntries: 5 })).rejects.toMatchObject({ code: "denied" });
      expect((await run(channel, "ls /tmp")).stdout.toString()).toBe("");
    },
  );

  bench.case("inner-link", "a link that stays inside is followed", { shell: true }, async () => {
    const { channel } = await bench.open();
    await run(
      channel,
      "mkdir -p a/b; echo inside > a/b/f; ln -s /workspace/a abs; ln -s a/b rel; ln -s ../a/b/f a/f",
    );
    for (const path of ["abs/b/f", "rel/f", "a/f", "rel/../b/f"]) {
      expect(await readText(channel, `/workspace/${path}`), path).toBe("inside\n");
    }
  });
}
