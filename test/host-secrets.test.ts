import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createSecretResolver } from "../src/exec/secrets.js";
import { createHostSecrets } from "../src/host-secrets.js";

let base: string;
let directory: string;
beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), "holdfast-secrets-"));
  directory = join(base, "secrets");
  await mkdir(join(directory, "sub"), { recursive: true });
  await mkdir(`${directory}-else`);
  await writeFile(join(directory, "token"), "inside\n");
  await writeFile(join(directory, "sub", "deep"), "deep");
  await writeFile(join(base, "outside"), "s3cr3t");
  await writeFile(join(`${directory}-else`, "near"), "s3cr3t");
  await symlink(join(base, "outside"), join(directory, "link-out"));
  await symlink("token", join(directory, "link-in"));
});
afterEach(() => rm(base, { recursive: true, force: true }));

const resolveFile = async (key: string) => {
  const environment = { TEMPORAL_API_KEY: "s3cr3t", HOLDFAST_OWNER: "s3cr3t", TOKEN: "from-env" };
  const resolve = createSecretResolver(createHostSecrets({ environment, directory }));
  const from = key.startsWith("env:") ? "env" : "file";
  return (await resolve({ X: { from, key: key.replace("env:", "") } }))["X"];
};

describe("secrets of a host", () => {
  it.each([
    ["token", "inside"],
    ["sub/deep", "deep"],
    ["sub/../token", "inside"],
    ["link-in", "inside"],
    ["env:TOKEN", "from-env"],
  ])("gives %s", async (key, value) => {
    expect(await resolveFile(key)).toBe(value);
  });

  it("gives an absolute path in its directory", async () => {
    expect(await resolveFile(join(directory, "token"))).toBe("inside");
  });

  it("follows a directory that is a link itself", async () => {
    await symlink(directory, join(base, "linked"));
    const secrets = createHostSecrets({ environment: {}, directory: join(base, "linked") });
    expect(await secrets.file("token")).toEqual(Buffer.from("inside\n"));
  });

  it.each(["../outside", "link-out", "/etc/passwd", "/no/such/file", "../secrets-else/near", "", "."])(
    "denies %j and says where secrets go",
    async (key) => {
      const refusal = resolveFile(key);
      await expect(refusal).rejects.toMatchObject({ code: "denied", field: "secrets.X" });
      await expect(refusal).rejects.toThrow("secret X");
      await expect(refusal).rejects.toHaveProperty("hint", expect.stringContaining("HOLDFAST_SECRETS_DIR"));
    },
  );

  it.each(["missing", "env:TEMPORAL_API_KEY", "env:HOLDFAST_OWNER"])("has no %s", async (key) => {
    await expect(resolveFile(key)).rejects.toMatchObject({ code: "not-found", field: "secrets.X" });
  });
});
