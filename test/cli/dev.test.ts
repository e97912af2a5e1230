import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freePort } from "../../src/dev-server/free-port.js";
import { runHoldfast, startHoldfast, type CliEnvironment, type CliResult } from "../support/holdfast-cli.js";
import { until } from "../support/until.js";

let directory: string;
let stateDir: string;
let port: number;
let env: CliEnvironment;
let dev: Awaited<ReturnType<typeof startHoldfast>>;

/** The server's binary is the one that the test run found: HOME alone would mean another cache. */
const cache = { XDG_CACHE_HOME: process.env.XDG_CACHE_HOME ?? join(process.env.HOME ?? "", ".cache") };

const startDev = () =>
  startHoldfast(["dev", "--port", String(port), "--ui-port", String(uiPort)], {
    ...cache,
    HOME: directory,
    HOLDFAST_STATE_DIR: stateDir,
  });
let uiPort: number;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "holdfast-cli-"));
  stateDir = join(directory, "state");
  port = await freePort();
  uiPort = await freePort();
  env = { HOME: directory, HOLDFAST_STATE_DIR: stateDir, TEMPORAL_ADDRESS: `127.0.0.1:${port}` };
  dev = await startDev();
});
afterAll(async () => {
  dev.process.kill("SIGTERM");
  await dev.process;
  await rm(directory, { recursive: true, force: true });
});

const holdfast = (...args: string[]): Promise<CliResult> => runHoldfast(args, env);
const json = (result: CliResult): unknown => JSON.parse(result.stdout);

async function listeners(): Promise<string[]> {
  const { stdout } = await execa("ps", ["-eo", "pid=,args="]);
  return stdout
    .split("\n")
    .filter((line) => line.includes(`--port ${port} `) || line.includes(`--port ${port}`));
}

describe("holdfast dev and session", () => {
  it("says where everything is", async () => {
    expect(dev.ready).toMatchObject({ address: `127.0.0.1:${port}`, namespace: "default", stateDir });
    expect((await fetch(String(dev.ready.uiUrl))).status).toBe(200);
  });

  it("passes output and exit code of a command through", async () => {
    expect(await holdfast("session", "start", "--id", "s1")).toEqual({
      exitCode: 0,
      stdout: "s1\n",
      stderr: "",
    });
    expect(await holdfast("session", "bash", "s1", "echo out; echo err >&2; exit 7")).toEqual({
      exitCode: 7,
      stdout: "out\n",
      stderr: "err\n",
    });
    const asJson = await holdfast("session", "bash", "s1", "exit 3", "--json");
    expect(asJson.exitCode).toBe(3);
    expect(json(asJson)).toMatchObject({ sessionId: "s1", outcome: { kind: "exited", exitCode: 3 } });
    expect(asJson.stdout.trim().split("\n")).toHaveLength(1);
  });

  it("calls any tool, from arguments and from stdin", async () => {
    const written = await holdfast(
      "session",
      "call",
      "s1",
      "write",
      '{"path":"a.txt","content":"caf\u00e9\\n"}',
    );
    expect(written).toMatchObject({ exitCode: 0 });
    const read = await runHoldfast(["session", "call", "s1", "read", "-"], env, {
      input: '{"path":"a.txt"}',
    });
    expect(read).toEqual({ exitCode: 0, stdout: "caf\u00e9\n", stderr: "" });
    const missing = await holdfast("session", "call", "s1", "read", '{"path":"none"}');
    expect(missing).toMatchObject({
      exitCode: 3,
      stdout: "",
      stderr: expect.stringContaining("none") as string,
    });
  });

  it("gives up waiting without ending the call, and waits for it again", async () => {
    const early = await holdfast(
      "session",
      "bash",
      "s1",
      "sleep 2; echo late",
      "--wait",
      "300ms",
      "--call-id",
      "c1",
    );
    expect(early).toMatchObject({ exitCode: 0, stdout: "" });
    expect(early.stderr).toContain("holdfast session call s1 --await c1");
    expect(await holdfast("session", "call", "s1", "--await", "c1")).toMatchObject({
      exitCode: 0,
      stdout: "late\n",
    });
    expect(await holdfast("session", "bash", "s1", "sleep 20", "--timeout", "1s")).toMatchObject({
      exitCode: 124,
      stderr: expect.stringContaining("timeout of 1000 ms") as string,
    });
  });

  it("stops, lists, resumes, deletes", async () => {
    expect(await holdfast("session", "stop", "s1")).toMatchObject({
      exitCode: 0,
      stdout: "Session s1 is stopped\n",
    });
    expect(json(await holdfast("session", "state", "s1", "--json"))).toMatchObject({ status: "stopped" });
    await until(async () =>
      JSON.stringify(json(await holdfast("session", "list", "--status", "stopped", "--json"))).includes(
        '"s1"',
      ),
    );
    expect(await holdfast("session", "resume", "s1")).toMatchObject({ exitCode: 0 });
    expect((await holdfast("session", "state", "s1")).stdout).toMatch(/^status +running$/m);
    expect((await holdfast("session", "start", "--id", "s2", "--label", "team=x", "--json")).exitCode).toBe(
      0,
    );
    const deleted = await holdfast("session", "delete", "s2", "--json");
    expect(json(deleted)).toMatchObject({ sessionId: "s2", status: "deleted", cleanup: "done" });
    expect(await holdfast("session", "bash", "s2", "true")).toMatchObject({ exitCode: 3 });
  });

  it("takes a whole spec from a file; flags override it", async () => {
    const file = join(directory, "spec.json");
    await writeFile(file, JSON.stringify({ provider: "docker", env: { A: "1", B: "1" } }));
    const started = await holdfast(
      ...["session", "start", "--id", "s3", "--spec", file, "--provider", "just-bash", "--env", "B=2"],
    );
    expect(started).toMatchObject({ exitCode: 0 });
    expect((await holdfast("session", "bash", "s3", "echo $A$B")).stdout).toBe("12\n");
    await holdfast("session", "delete", "s3");
  });

  it.each([
    [5, ["session", "start", "--id", "s1"], "s1"],
    [2, ["session", "start", "--provider", "podman"], "spec.provider"],
    [2, ["session", "start", "--template-json", "{"], "--template-json"],
    [2, ["session", "start", "--spec", "/nowhere.json"], "--spec"],
    [2, ["session", "start", "--idle", "soon"], "--idle"],
    [2, ["session", "call", "s1", "frob", "{}"], "call.tool"],
    [2, ["session", "call", "s1"], "no tool"],
    [2, ["session", "bash", "s1"], "COMMAND"],
    [2, ["session", "bash", "s1", "ls", "-la"], "no flag -l"],
    [2, ["session", "bash", "s1", "ls", "more"], "one argument too many"],
    [2, ["session", "list", "--status", "happy"], "--status"],
    [2, ["session", "frob"], "frob"],
    [2, ["frob"], "frob"],
    [3, ["session", "state", "none"], "no such session"],
    [3, ["session", "bash", "none", "true"], "no such session"],
    [3, ["session", "stop", "none"], "no such session"],
    [3, ["session", "list", "--namespace", "none"], "namespace none not found"],
    [3, ["artifact", "get", "0".repeat(64)], "no artifact"],
    [4, ["session", "list", "--address", "127.0.0.1:1"], "No Temporal server answers on 127.0.0.1:1"],
    [4, ["worker", "--address", "127.0.0.1:1"], "No Temporal server answers on 127.0.0.1:1"],
    [2, ["worker", "--address", "http://x"], "TEMPORAL_ADDRESS"],
    [2, ["dev", "--port", "http"], "--port"],
  ])("exits with %i for %j, in words and as JSON", async (exitCode, args, words) => {
    const said = await holdfast(...args);
    expect(said).toMatchObject({ exitCode, stdout: "" });
    expect(said.stderr).toContain(words);
    expect(said.stderr).toMatch(/^holdfast: .+\n {2}\S/);
    expect(said.stderr).not.toContain("    at ");
    const asJson = await holdfast(...args, "--json");
    expect(asJson.exitCode).toBe(exitCode);
    expect(json(asJson)).toMatchObject({
      error: { code: expect.any(String) as string, hint: expect.any(String) as string },
    });
  });

  it("is one for a state directory, and says so when its port is taken", async () => {
    const devEnv = { ...cache, HOME: directory, HOLDFAST_STATE_DIR: stateDir };
    const second = await runHoldfast(["dev", "--port", String(await freePort())], devEnv);
    expect(second).toMatchObject({ exitCode: 5 });
    expect(second.stderr).toContain(String(dev.process.pid));
    const elsewhere = await runHoldfast(["dev", "--port", String(port)], {
      ...devEnv,
      HOLDFAST_STATE_DIR: join(directory, "other"),
    });
    expect(elsewhere).toMatchObject({ exitCode: 5 });
    expect(elsewhere.stderr).toContain(`TEMPORAL_ADDRESS=127.0.0.1:${port}`);
  });

  it("stops cleanly, and the sessions go on at the next start", async () => {
    await holdfast("session", "bash", "s1", "echo kept > kept.txt");
    dev.process.kill("SIGINT");
    expect((await dev.process).exitCode).toBe(0);
    expect(await listeners()).toEqual([]);
    expect(await readdir(stateDir)).not.toContain("dev.pid");
    dev = await startDev();
    expect(await holdfast("session", "bash", "s1", "cat kept.txt")).toMatchObject({
      exitCode: 0,
      stdout: "kept\n",
    });
  });

  it("killed, it leaves no server, and starts again over what it left", async () => {
    dev.process.kill("SIGKILL");
    await dev.process;
    await until(async () => (await listeners()).length === 0);
    dev = await startDev();
    expect(await holdfast("session", "bash", "s1", "cat kept.txt")).toMatchObject({
      exitCode: 0,
      stdout: "kept\n",
    });
    expect(await holdfast("session", "delete", "s1")).toMatchObject({ exitCode: 0 });
    expect(await readdir(join(stateDir, "just-bash/sessions"))).toEqual([]);
  }, 120_000);
});
