import { createHash } from "node:crypto";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { holdDevLock } from "../../src/cli/dev-lock.js";

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "holdfast-lock-"));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

/** Above every pid of Linux and macOS. */
const deadPid = 2 ** 22 + 1;

describe("the lock of holdfast dev", () => {
  it.each([
    ["none", undefined],
    ["a dead process's", `${deadPid} 1 x\n`],
    ["an empty", ""],
  ])(
    "%s lock, and four at once: one holds it, the others are told who, and nothing is left",
    async (_, left) => {
      for (let round = 0; round < 60; round++) {
        const stateDir = join(directory, String(round));
        const old = join(stateDir, "dev.pid");
        if (left !== undefined) {
          await (await holdDevLock(stateDir)).release();
          await writeFile(old, left);
        }
        const tries = await Promise.allSettled(Array.from({ length: 4 }, () => holdDevLock(stateDir)));
        const held = tries.filter((attempt) => attempt.status === "fulfilled");
        expect(held).toHaveLength(1);
        for (const attempt of tries) {
          if (attempt.status === "rejected") {
            expect(attempt.reason).toMatchObject({
              code: "conflict",
              message: expect.stringContaining(`process ${process.pid}`) as string,
            });
          }
        }
        expect(await readdir(stateDir)).toEqual(["dev.pid"]);
        await held[0]?.value.release();
        expect(await readdir(stateDir)).toEqual([]);
      }
    },
  );

  it("takes over from a dead one whose successor died on its way, too", async () => {
    const file = join(directory, "dev.pid");
    const dead = `${deadPid} 1 first\n`;
    await writeFile(file, dead);
    const right = `${file}.${createHash("sha256").update(dead).digest("hex").slice(0, 16)}`;
    await writeFile(right, `${deadPid} 1 second\n`);
    const lock = await holdDevLock(directory);
    expect(await readdir(directory)).toEqual(["dev.pid"]);
    await lock.release();
  });

  it.skipIf(process.platform !== "linux")(
    "is stale when its pid is another process's by now (Linux: the start time is known)",
    async () => {
      const file = join(directory, "dev.pid");
      await writeFile(file, `${process.ppid} 1 x\n`);
      const lock = await holdDevLock(directory);
      expect(await readFile(file, "utf8")).toMatch(new RegExp(`^${process.pid} `));
      await lock.release();
      // The same process, as it is: alive.
      await writeFile(file, `${process.ppid}\n`);
      await expect(holdDevLock(directory)).rejects.toMatchObject({ code: "conflict" });
    },
  );

  it("is not released when it is another's by now", async () => {
    const file = join(directory, "dev.pid");
    const lock = await holdDevLock(directory);
    await writeFile(file, "1 - other\n");
    await lock.release();
    expect(await readFile(file, "utf8")).toBe("1 - other\n");
  });
});
