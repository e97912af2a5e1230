import { createHash } from "node:crypto";
import { mkdir, mkdtemp, readdir, rm, stat, symlink, truncate, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createLocalArtifactStore } from "../../src/artifacts/local-artifact-store.js";
import type { ArtifactRef } from "../../src/contract/refs.js";

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "holdfast-store-"));
});
afterEach(async () => {
  await rm(directory, { recursive: true, force: true });
});

const store = () => createLocalArtifactStore({ directory: join(directory, "store") });
const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

async function* pieces(...parts: (string | Uint8Array)[]): AsyncIterable<Uint8Array> {
  for (const part of parts) {
    await Promise.resolve();
    yield Buffer.from(part as string);
  }
}
async function collect(content: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of content) chunks.push(chunk);
  return Buffer.concat(chunks);
}
const filesBelow = async (path: string) =>
  (await readdir(path, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());

describe("local artifact store", () => {
  it("stores by content and gives the same bytes back", async () => {
    const bytes = Buffer.from([0, 255, 10, 13, 128]);
    const ref = await store().put(pieces(bytes.subarray(0, 2), bytes.subarray(2)), { mimeType: "x/y" });
    const hash = sha256(bytes);
    expect(ref).toEqual({
      key: `sha256/${hash.slice(0, 2)}/${hash}`,
      sha256: hash,
      sizeBytes: 5,
      mimeType: "x/y",
    });
    expect(await collect(store().get(ref))).toEqual(bytes);
    expect(Buffer.from(await store().read(ref, { maxBytes: 5 }))).toEqual(bytes);
  });

  it("stores nothing at all as an artifact of 0 bytes", async () => {
    const ref = await store().put(pieces());
    expect(ref.sizeBytes).toBe(0);
    expect(await collect(store().get(ref))).toHaveLength(0);
  });

  it("keeps one file for the same bytes, also when they are put at once", async () => {
    const refs = await Promise.all(Array.from({ length: 8 }, () => store().put(pieces("same", " bytes"))));
    expect(new Set(refs.map((ref) => ref.key)).size).toBe(1);
    expect(await filesBelow(join(directory, "store"))).toHaveLength(1);
  });

  it("lets only its own user in", async () => {
    const ref = await store().put(pieces("private"));
    const modeOf = async (path: string) => (await stat(join(directory, "store", path))).mode & 0o777;
    expect(await modeOf(ref.key)).toBe(0o600);
    for (const path of [".", "tmp", "sha256", ref.key.slice(0, 9)]) expect(await modeOf(path)).toBe(0o700);
  });

  it("leaves nothing when the content fails half-way, and passes that failure on", async () => {
    const failure = new Error("the source broke");
    const failing = async function* () {
      yield* pieces("half");
      throw failure;
    };
    await expect(store().put(failing())).rejects.toBe(failure);
    expect(await filesBelow(join(directory, "store"))).toHaveLength(0);
  });

  it("ignores what a put that died has left", async () => {
    await mkdir(join(directory, "store/tmp"), { recursive: true });
    await writeFile(join(directory, "store/tmp/left-over"), "half");
    const ref = await store().put(pieces("half"));
    expect((await collect(store().get(ref))).toString()).toBe("half");
  });

  it("removes what was left a week ago, and nothing that may still be written", async () => {
    const temporary = join(directory, "store/tmp");
    await mkdir(temporary, { recursive: true });
    for (const [name, days] of [
      ["old", 8],
      ["recent", 6],
    ] as const) {
      await writeFile(join(temporary, name), "half");
      const time = Date.now() / 1000 - days * 24 * 3600;
      await utimes(join(temporary, name), time, time);
    }
    await store().put(pieces("x"));
    await vi.waitFor(async () => {
      expect(await readdir(temporary)).toEqual(["recent"]);
    });
  });

  it("notices damage, and a new put of the content repairs it", async () => {
    const ref = await store().put(pieces("content"));
    const path = join(directory, "store", ref.key);
    await truncate(path, 3);
    await expect(collect(store().get(ref))).rejects.toMatchObject({ code: "internal" });
    await writeFile(path, "CONTENT");
    await expect(collect(store().get(ref))).rejects.toMatchObject({ code: "internal" });
    await store().put(pieces("content"));
    expect((await collect(store().get(ref))).toString()).toBe("content");
  });

  it("never takes a key as a path", async () => {
    const secret = join(directory, "secret");
    await writeFile(secret, "outside");
    const ref = { key: "../secret", sha256: sha256(Buffer.from("outside")), sizeBytes: 7 };
    await expect(collect(store().get(ref))).rejects.toMatchObject({ code: "invalid-request" });
    const hash = "../../secret";
    const forged = { key: `sha256/../${hash}`, sha256: hash, sizeBytes: 7 };
    await expect(collect(store().get(forged))).rejects.toMatchObject({ code: "invalid-request" });
  });

  it("follows no link in place of an artifact", async () => {
    const ref = await store().put(pieces("outside"));
    const path = join(directory, "store", ref.key);
    await rm(path);
    await writeFile(join(directory, "secret"), "outside");
    await symlink(join(directory, "secret"), path);
    await expect(collect(store().get(ref))).rejects.toMatchObject({ code: "denied" });
  });

  it("has typed errors for what is missing and what is too large", async () => {
    const hash = sha256(Buffer.from("never put"));
    const missing: ArtifactRef = {
      key: `sha256/${hash.slice(0, 2)}/${hash}`,
      sha256: hash,
      sizeBytes: 9,
    };
    await expect(collect(store().get(missing))).rejects.toMatchObject({ code: "not-found" });
    const ref = await store().put(pieces("123456"));
    await expect(store().read(ref, { maxBytes: 5 })).rejects.toMatchObject({ code: "too-large" });
  });

  it("has typed errors for a directory it can't use", async () => {
    await writeFile(join(directory, "store"), "a file");
    await expect(store().put(pieces("x"))).rejects.toMatchObject({
      code: "denied",
      hint: expect.any(String) as string,
    });
  });
});
