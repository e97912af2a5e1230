import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { link, mkdir, mkdtemp, readFile, readlink, rm, symlink, writeFile, readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import type { Files } from "../../../src/providers/channel.js";
import { createFiles } from "../../../src/providers/just-bash/files/files.js";
import { bytes } from "../subject.js";

const all = { offset: 0, lengthBytes: 1024 ** 2 };

describe("just-bash files on the host", () => {
  let base: string;
  let root: string;
  let outside: string;
  let files: Files;

  beforeEach(async () => {
    base = await mkdtemp(join(tmpdir(), "holdfast-files-"));
    root = join(base, "root");
    outside = join(base, "outside");
    await mkdir(join(root, "workspace"), { recursive: true });
    await mkdir(outside);
    await writeFile(join(outside, "secret"), "secret");
    files = filesWith();
  });

  afterEach(async () => {
    await rm(base, { recursive: true, force: true });
  });

  const filesWith = (): Files =>
    createFiles({
      root,
      writes: join(base, "writes"),
      removed: join(base, "removed"),
      allowed: ["/workspace"],
      check: () => Promise.resolve(),
    });

  it("B46 [file-symlink] links planted on the host lead nowhere outside", async () => {
    await symlink(join(outside, "secret"), join(root, "workspace/leak"));
    await symlink(outside, join(root, "workspace/d"));
    await symlink("../../outside/secret", join(root, "workspace/up"));
    await symlink(join(outside, "new"), join(root, "workspace/w"));
    const refused = expect.stringMatching(/^(denied|not-found)$/) as string;
    for (const name of ["leak", "d/secret", "up"]) {
      await expect(files.read(`/workspace/${name}`, all), name).rejects.toMatchObject({ code: refused });
    }
    for (const name of ["leak", "d/new", "w", "up", "d/deep/new"]) {
      await expect(files.write(`/workspace/${name}`, bytes("x"), {}), name).rejects.toMatchObject({
        code: refused,
      });
    }
    await expect(files.list("/workspace/d", { maxEntries: 9 })).rejects.toMatchObject({ code: refused });
    await files.remove("/workspace/d", { recursive: true, force: false });
    expect(await readdir(outside)).toEqual(["secret"]);
    expect(await readFile(join(outside, "secret"), "utf8")).toBe("secret");
  });

  it("B46 [file-symlink] a directory swapped for a link while it is used never leads out", async () => {
    const victim = join(root, "workspace/dir");
    const hidden = join(root, "workspace/hidden");
    await mkdir(victim);
    await writeFile(join(victim, "secret"), "harmless");
    const script = new URL("swap-process.mjs", import.meta.url).pathname;
    const swapper = execa("node", [script, victim, hidden, outside], { reject: false, buffer: false });
    onTestFinished(() => {
      swapper.kill("SIGKILL");
    });
    await once(swapper.stdout, "data");
    let read = 0;
    for (let round = 0; round < 1500; round++) {
      try {
        const { bytes: content } = await files.read("/workspace/dir/secret", all);
        expect(Buffer.from(content).toString()).toBe("harmless");
        read++;
      } catch (error) {
        expect(error).toMatchObject({ name: "ProviderError" });
      }
      await files.write(`/workspace/dir/new-${round}`, bytes("x"), {}).catch((error: unknown) => {
        expect(error).toMatchObject({ name: "ProviderError" });
      });
      await files.list("/workspace/dir", { maxEntries: 10 }).catch((error: unknown) => {
        expect(error).toMatchObject({ name: "ProviderError" });
      });
    }
    swapper.kill("SIGKILL");
    await swapper;
    // Some reads went through, so the loop above proved something.
    expect(read).toBeGreaterThan(0);
    expect(await readdir(outside)).toEqual(["secret"]);
  });

  it("refuses a FIFO, a socket and a device at once", async () => {
    await execa("mkfifo", [join(root, "workspace/pipe")]);
    const startedAtMs = Date.now();
    await expect(files.read("/workspace/pipe", all)).rejects.toMatchObject({ code: "not-a-file" });
    await expect(files.write("/workspace/pipe", bytes("x"), {})).rejects.toMatchObject({
      code: "not-a-file",
    });
    expect(Date.now() - startedAtMs).toBeLessThan(2000);
    expect((await files.stat("/workspace/pipe"))?.type).toBe("other");
  });

  it("B45 [file-names] lists a name that is not UTF-8 as its bytes", async () => {
    await writeFile(Buffer.concat([Buffer.from(join(root, "workspace/")), Buffer.from([0xff, 0xfe])]), "raw");
    const { entries } = await files.list("/workspace", { maxEntries: 10 });
    expect(entries.map((entry) => [...entry.name])).toEqual([[0xff, 0xfe]]);
    expect(entries[0]).toMatchObject({ type: "file", sizeBytes: 3 });
  });

  it("keeps the old content when the disk is full, and says no-space", async ({ skip }) => {
    const small = join(base, "small");
    await mkdir(small);
    const mounted = await execa("mount", ["-t", "tmpfs", "-o", "size=256k", "tmpfs", small], {
      reject: false,
    });
    skip(mounted.failed, "a full disk needs a small tmpfs, which may not be mounted here");
    try {
      await mkdir(join(small, "workspace"));
      root = small;
      const onSmall = filesWith();
      await onSmall.write("/workspace/file", bytes("old"), {});
      const large = bytes(new Uint8Array(200_000), new Uint8Array(200_000));
      await expect(onSmall.write("/workspace/file", large, {})).rejects.toMatchObject({ code: "no-space" });
      expect(Buffer.from((await onSmall.read("/workspace/file", all)).bytes).toString()).toBe("old");
      expect(await readdir(join(small, "workspace"))).toEqual(["file"]);
    } finally {
      await execa("umount", [small]);
    }
  });

  it("replaces only the named one of two hard links", async () => {
    await link(join(outside, "secret"), join(root, "workspace/hard"));
    await files.write("/workspace/hard", bytes("mine"), {});
    expect(await readFile(join(outside, "secret"), "utf8")).toBe("secret");
  });

  it("finds a recorded write whose process died after the rename, and repeats one that died before", async () => {
    const record = { callId: randomUUID(), requestHash: "a", result: { n: 1 } };
    await files.write("/workspace/f", bytes("once"), { record });
    const [done] = (await readdir(join(base, "writes"))).filter((name) => name.endsWith(".done.json"));
    await rm(join(base, "writes", done ?? ""));
    await writeFile(join(root, "workspace/f"), "changed since");
    expect(await filesWith().recorded(record.callId, "a")).toEqual({
      created: true,
      sizeBytes: 4,
      result: { n: 1 },
    });
    await filesWith().write("/workspace/f", bytes("once"), { record });
    expect(await readFile(join(root, "workspace/f"), "utf8")).toBe("changed since");

    // Before the rename: the new content still waits beside the file.
    const intent = join(base, "writes", `${(done ?? "").split(".")[0] ?? ""}.intent.json`);
    const { temporaryName } = JSON.parse(await readFile(intent, "utf8")) as { temporaryName: string };
    await rm(join(base, "writes", done ?? ""));
    await writeFile(join(root, "workspace", temporaryName), "once");
    expect(await filesWith().recorded(record.callId, "a")).toBeUndefined();
    expect(await readdir(join(root, "workspace"))).toEqual(["f"]);
    await filesWith().write("/workspace/f", bytes("once"), { record });
    expect(await readFile(join(root, "workspace/f"), "utf8")).toBe("once");
  });

  it("follows a link that stays inside and leaves it a link", async () => {
    await mkdir(join(root, "workspace/a"));
    await writeFile(join(root, "workspace/a/f"), "old");
    await symlink("/workspace/a/f", join(root, "workspace/l"));
    await files.write("/workspace/l", bytes("new"), {});
    expect(await readFile(join(root, "workspace/a/f"), "utf8")).toBe("new");
    expect(await readlink(join(root, "workspace/l"))).toBe("/workspace/a/f");
  });
});
