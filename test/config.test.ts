import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { HoldfastError } from "../src/client/holdfast-error.js";
import { loadConfig } from "../src/config.js";
import { ensureHostId } from "../src/host-id.js";

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "holdfast-config-"));
});
afterAll(() => rm(directory, { recursive: true, force: true }));

/** A home of its own: the developer's temporal.toml has no say in tests. */
const load = (env: Record<string, string> = {}, flags = {}) =>
  loadConfig({ env: { HOME: directory, ...env }, flags });

function refusal(env: Record<string, string>): HoldfastError {
  try {
    load(env);
  } catch (error) {
    expect(error).toBeInstanceOf(HoldfastError);
    return error as HoldfastError;
  }
  throw new Error("it was accepted");
}

describe("configuration", () => {
  it("has defaults that follow the XDG rules", () => {
    const config = load();
    expect(config).toMatchObject({
      temporal: { connection: { address: "127.0.0.1:7233" }, namespace: "default", addressChosen: false },
      taskQueue: "holdfast",
      stateDir: join(directory, ".local/state/holdfast"),
      cacheDir: join(directory, ".cache/holdfast"),
      artifactsDir: join(directory, ".local/state/holdfast/artifacts"),
      owner: undefined,
      hostId: undefined,
      dockerCli: "docker",
    });
    expect(load({ XDG_STATE_HOME: "/x/state", XDG_CACHE_HOME: "/x/cache" })).toMatchObject({
      stateDir: "/x/state/holdfast",
      cacheDir: "/x/cache/holdfast",
    });
    expect(load({ XDG_STATE_HOME: "relative" }).stateDir).toBe(join(directory, ".local/state/holdfast"));
  });

  it("is frozen", () => {
    const config = load();
    expect(Object.isFrozen(config) && Object.isFrozen(config.temporal)).toBe(true);
  });

  it("takes each variable, and flags before variables", () => {
    const env = {
      TEMPORAL_ADDRESS: "temporal.test:7000",
      TEMPORAL_NAMESPACE: "ns",
      HOLDFAST_TASK_QUEUE: "q",
      HOLDFAST_STATE_DIR: "/s",
      HOLDFAST_HOST_ID: "h-1",
      HOLDFAST_OWNER: "me",
      HOLDFAST_ARTIFACTS: "/a",
      HOLDFAST_DOCKER: "podman",
      HOLDFAST_MSB: "/opt/msb",
    };
    expect(load(env)).toMatchObject({
      temporal: { connection: { address: "temporal.test:7000" }, namespace: "ns", addressChosen: true },
      taskQueue: "q",
      stateDir: "/s",
      hostId: "h-1",
      owner: "me",
      artifactsDir: "/a",
      dockerCli: "podman",
      msbCli: "/opt/msb",
    });
    const flags = { address: "[::1]:1", namespace: "other", stateDir: "/f", taskQueue: "r", hostId: "h-2" };
    expect(load(env, flags)).toMatchObject({
      temporal: { connection: { address: "[::1]:1" }, namespace: "other" },
      stateDir: "/f",
      taskQueue: "r",
      hostId: "h-2",
    });
  });

  it("reads a Temporal profile: address, namespace, API key and TLS", async () => {
    const file = join(directory, "profiles.toml");
    const toml = `[profile.default]\naddress = "wrong:1"\n[profile.prod]\naddress = "cloud.test:7233"\nnamespace = "p"\napi_key = "k"\n`;
    await writeFile(file, toml);
    const config = load({ TEMPORAL_CONFIG_FILE: file, TEMPORAL_PROFILE: "prod" });
    expect(config.temporal).toMatchObject({
      connection: { address: "cloud.test:7233", apiKey: "k", tls: true },
      namespace: "p",
      addressChosen: true,
    });
    const flagged = loadConfig({
      env: { HOME: directory, TEMPORAL_CONFIG_FILE: file },
      flags: { profile: "prod" },
    });
    expect(flagged.temporal.namespace).toBe("p");
  });

  it.each([
    ["TEMPORAL_ADDRESS", "http://localhost:7233"],
    ["TEMPORAL_ADDRESS", ""],
    ["TEMPORAL_ADDRESS", "localhost:99999"],
    ["TEMPORAL_NAMESPACE", ""],
    ["TEMPORAL_PROFILE", "nowhere"],
    ["HOLDFAST_TASK_QUEUE", "a@b"],
    ["HOLDFAST_STATE_DIR", ""],
    ["HOLDFAST_HOST_ID", "a/b"],
    ["HOLDFAST_HOST_ID", "-a"],
    ["HOLDFAST_OWNER", ""],
    ["HOLDFAST_STATEDIR", "/typo"],
  ])("refuses %s=%j and names it", (name, value) => {
    const error = refusal({ [name]: value });
    expect(error).toMatchObject({ code: "invalid-request", field: name });
    expect(error.message + (error.hint ?? "")).toContain(name);
  });

  it("lets test switches pass", () => {
    expect(load({ HOLDFAST_TEST_DOCKER: "required" }).taskQueue).toBe("holdfast");
  });
});

describe("host id", () => {
  it("is made once, also by several first starts at the same time", async () => {
    const stateDir = join(directory, "state-a");
    const ids = await Promise.all(
      Array.from({ length: 8 }, () => ensureHostId({ stateDir, hostId: undefined })),
    );
    expect(new Set(ids).size).toBe(1);
    expect(await ensureHostId({ stateDir, hostId: undefined })).toBe(ids[0]);
    expect(await ensureHostId({ stateDir: join(directory, "state-b"), hostId: undefined })).not.toBe(ids[0]);
  });

  it("as configured wins and writes nothing", async () => {
    expect(await ensureHostId({ stateDir: join(directory, "none"), hostId: "mine" })).toBe("mine");
  });

  it("says what to do when it can't be kept or read", async () => {
    // Below a file: refused to root too.
    await writeFile(join(directory, "file"), "");
    const below = join(directory, "file/state");
    await expect(ensureHostId({ stateDir: below, hostId: undefined })).rejects.toMatchObject({
      code: "unavailable",
      hint: expect.stringContaining("HOLDFAST_HOST_ID") as string,
    });
    const stateDir = await mkdtemp(join(directory, "broken-"));
    await writeFile(join(stateDir, "host-id"), "two words\n");
    await expect(ensureHostId({ stateDir, hostId: undefined })).rejects.toThrow("host id");
  });
});
