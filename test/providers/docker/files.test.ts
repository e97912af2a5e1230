import { createHash } from "node:crypto";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Handle } from "../../../src/contract/sandbox.js";
import type { Channel } from "../../../src/providers/channel.js";
import { describeDocker } from "../../support/describe-docker.js";
import { createDockerBench } from "../../support/docker-session.js";
import { runCommand } from "../../support/run-command.js";

async function* chunks(bytes: Buffer, chunkBytes = 100_000): AsyncGenerator<Uint8Array> {
  await Promise.resolve();
  for (let start = 0; start < bytes.length; start += chunkBytes)
    yield bytes.subarray(start, start + chunkBytes);
}
const text = (value: string): AsyncGenerator<Uint8Array> => chunks(Buffer.from(value));

describeDocker("files through the guest", () => {
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
  const readAll = async (path: string): Promise<string> =>
    Buffer.from((await channel.files.read(path, { offset: 0, lengthBytes: 1 << 30 })).bytes).toString();

  it.each([0, 1, 96 * 1024, 131_071, 131_072, 131_073, 5 * 1024 * 1024 + 1])(
    "B48 [file-argmax] writes and reads %d bytes",
    async (sizeBytes) => {
      const bytes = Buffer.alloc(sizeBytes, "0123456789abcdef\n");
      const path = `/workspace/sizes/${sizeBytes}`;
      expect(await channel.files.write(path, chunks(bytes), {})).toEqual({ created: true, sizeBytes });
      const { bytes: read, stat } = await channel.files.read(path, {
        offset: 0,
        lengthBytes: sizeBytes + 10,
      });
      expect(Buffer.from(read).equals(bytes)).toBe(true);
      expect(stat).toMatchObject({ type: "file", sizeBytes });
      const hash = createHash("sha256").update(bytes).digest("hex");
      expect(await sh(`sha256sum <${path}; stat -c '%U %a' ${path}`)).toBe(`${hash}  -\nsandbox 644\n`);
    },
  );

  it("replaces atomically, keeps the mode, and a failed source changes nothing", async () => {
    await sh("echo old >f; chmod 640 f");
    async function* failing(): AsyncGenerator<Uint8Array> {
      await Promise.resolve();
      yield Buffer.from("half");
      throw new Error("source broke");
    }
    await expect(channel.files.write("/workspace/f", failing(), {})).rejects.toThrow("source broke");
    expect(await sh("cat f; ls -A | grep -v sizes")).toBe("old\nf\n");
    expect(await channel.files.write("/workspace/f", text("new"), {})).toEqual({
      created: false,
      sizeBytes: 3,
    });
    expect(await sh("cat f; stat -c %a f")).toBe("new640\n");
  });

  it("a recorded write is done once", async () => {
    const record = { callId: "w1", requestHash: "h1", result: { diff: "x" } };
    const path = "/workspace/recorded";
    expect(await channel.files.recorded("w1", "h1")).toBeUndefined();
    await channel.files.write(path, text("one"), { record });
    await sh("echo changed >recorded");
    expect(await channel.files.write(path, text("one"), { record })).toMatchObject({
      created: true,
      sizeBytes: 3,
    });
    expect(await readAll(path)).toBe("changed\n");
    expect(await channel.files.recorded("w1", "h1")).toEqual({
      created: true,
      sizeBytes: 3,
      result: { diff: "x" },
    });
    await expect(channel.files.recorded("w1", "h2")).rejects.toMatchObject({ code: "conflict" });
  });

  it("B46 [file-symlink] nothing leads out of the roots, by link, by dots or by a look-alike", async () => {
    await sh(
      "mkdir -p a l; cd l; ln -s /etc/passwd leak; ln -s / d; ln -s /tmp/nothere w; echo in >real; ln -s real ok",
    );
    const outside = [
      "l/leak",
      "l/d/etc/passwd",
      "../etc/passwd",
      "a/../../etc/passwd",
      "../workspace2/x",
      "../tmp/x",
    ];
    for (const path of outside) {
      await expect(
        channel.files.read(`/workspace/${path}`, { offset: 0, lengthBytes: 10 }),
        path,
      ).rejects.toMatchObject({ code: "denied" });
    }
    for (const path of ["l/d/tmp/new", "l/w", "../tmp/x", "l/d/tmp"]) {
      await expect(channel.files.write(`/workspace/${path}`, text("x"), {}), path).rejects.toMatchObject({
        code: "denied",
      });
    }
    await expect(channel.files.read("/etc/passwd", { offset: 0, lengthBytes: 1 })).rejects.toMatchObject({
      code: "denied",
    });
    expect(await sh("ls /tmp")).toBe("");
    expect(await readAll("/workspace/l/ok")).toBe("in\n");
    expect(await channel.files.stat("/workspace/l/ok")).toMatchObject({ type: "link" });
  });

  it("what is no regular file is refused at once", async () => {
    await sh("mkfifo pipe; mkdir dir");
    for (const path of ["pipe", "dir"]) {
      const before = performance.now();
      await expect(
        channel.files.read(`/workspace/${path}`, { offset: 0, lengthBytes: 1 }),
      ).rejects.toMatchObject({ code: "not-a-file" });
      expect(performance.now() - before).toBeLessThan(2_000);
    }
    await expect(channel.files.read("/workspace/none", { offset: 0, lengthBytes: 1 })).rejects.toMatchObject({
      code: "not-found",
    });
    expect(await channel.files.stat("/workspace/none")).toBeUndefined();
  });

  it("lists names as they are, in bytes, with their types", async () => {
    await sh(
      `mkdir names; cd names; touch $'a\\nb' ' lead' 'trail ' ./-rf $'t\\tab' '*' '[id]' "q'uote" '$(id)' $'\\xff\\xfe'; mkdir sub; ln -s nowhere dangling; mkfifo pipe`,
    );
    const { entries, truncated } = await channel.files.list("/workspace/names", { maxEntries: 100 });
    const names = entries.map(({ name, type }) => [Buffer.from(name).toString("latin1"), type]);
    expect(truncated).toBe(false);
    expect(names).toHaveLength(13);
    expect(names).toEqual(
      expect.arrayContaining([
        ["a\nb", "file"],
        [" lead", "file"],
        ["trail ", "file"],
        ["-rf", "file"],
        ["\xff\xfe", "file"],
        ["sub", "dir"],
        ["dangling", "link"],
        ["pipe", "other"],
      ]),
    );
    expect((await channel.files.list("/workspace/names", { maxEntries: 5 })).entries).toHaveLength(5);
    expect((await channel.files.list("/workspace/names", { maxEntries: 5 })).truncated).toBe(true);
  });

  it("removes, and says what is not there", async () => {
    await sh("mkdir -p gone/deep; echo x >gone/deep/f; ln -s / gone/root");
    await expect(
      channel.files.remove("/workspace/gone", { recursive: false, force: false }),
    ).rejects.toMatchObject({ code: "not-a-file" });
    await channel.files.remove("/workspace/gone", { recursive: true, force: false });
    expect(await channel.files.stat("/workspace/gone")).toBeUndefined();
    await expect(
      channel.files.remove("/workspace/gone", { recursive: true, force: false }),
    ).rejects.toMatchObject({ code: "not-found" });
    await channel.files.remove("/workspace/gone", { recursive: true, force: true });
  });

  it("uploads are root's and can't be changed by commands", async () => {
    await channel.files.write("/mnt/session/uploads/in/data.csv", text("a,b\n"), { mode: 0o444 });
    const script =
      "cat /mnt/session/uploads/in/data.csv; stat -c '%U %a' /mnt/session/uploads/in/data.csv; echo x >>/mnt/session/uploads/in/data.csv || echo refused; rm -f /mnt/session/uploads/in/data.csv || echo kept";
    expect(await sh(script)).toBe("a,b\nroot 444\nrefused\nkept\n");
    await channel.files.write("/mnt/session/outputs/out", text("y"), {});
    expect(await sh("stat -c %U /mnt/session/outputs/out")).toBe("sandbox\n");
  });

  it("a full disk leaves the old content", async () => {
    await channel.files.write("/mnt/session/outputs/big", text("old"), {});
    const flood = chunks(Buffer.alloc(120 * 1024 * 1024), 1 << 20);
    await expect(channel.files.write("/mnt/session/outputs/big", flood, {})).rejects.toMatchObject({
      code: "no-space",
    });
    expect(await readAll("/mnt/session/outputs/big")).toBe("old");
    expect(await sh("ls -A /mnt/session/outputs")).toBe("big\nout\n");
  });
});
