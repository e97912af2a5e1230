import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { createHoldfastClient, type HoldfastClient } from "../../src/client/holdfast-client.js";
import type { Session } from "../../src/client/session.js";
import { describeDocker } from "../support/describe-docker.js";
import { baseImage, docker } from "../support/docker-engine.js";
import { startHoldfast } from "../support/holdfast-cli.js";
import { until } from "../support/until.js";

/** Sessions in containers, with workers that are processes and die as processes do. */
describeDocker("sessions", () => {
  const owner = `sessions-${randomUUID()}`;
  const filter = `label=dev.holdfast.owner=${owner}`;
  let stateDir: string;
  let client: HoldfastClient;
  let env: Record<string, string>;
  const workers = new Set<number>();

  beforeAll(async () => {
    stateDir = await mkdtemp(join(tmpdir(), "holdfast-docker-sessions-"));
    const { address, namespace } = inject("temporal");
    const artifacts = join(stateDir, "artifacts");
    env = {
      HOME: stateDir,
      TEMPORAL_ADDRESS: address,
      TEMPORAL_NAMESPACE: namespace,
      HOLDFAST_TASK_QUEUE: owner,
      HOLDFAST_OWNER: owner,
      HOLDFAST_STATE_DIR: stateDir,
      ...(process.env.DOCKER_HOST === undefined ? {} : { DOCKER_HOST: process.env.DOCKER_HOST }),
    };
    client = createHoldfastClient({ address, namespace, taskQueue: owner, artifacts });
  });
  afterAll(async () => {
    for (const pid of workers) process.kill(pid, "SIGKILL");
    await client.close();
    const left = await labelled();
    if (left.length > 0) await docker("rm", "-f", ...left);
    const images = (await docker("images", "-q", "--filter", filter)).split("\n").filter(Boolean);
    if (images.length > 0) await docker("rmi", "-f", ...images);
    await rm(stateDir, { recursive: true, force: true });
  });

  const labelled = async () =>
    (await docker("ps", "-aq", "--filter", filter)).split("\n").filter((id) => id !== "");

  /** A worker of this host; `end` waits until it is gone. */
  async function startWorker() {
    const { process: child, ready } = await startHoldfast(["worker", "--log-level", "error"], env);
    const pid = child.pid ?? 0;
    workers.add(pid);
    return {
      hostId: ready.hostId,
      signal: (name: NodeJS.Signals) => process.kill(pid, name),
      async end(name: NodeJS.Signals) {
        child.kill(name);
        await child;
        workers.delete(pid);
      },
    };
  }
  const start = (spec = {}): Promise<Session> =>
    client.sessions.start({ provider: "docker", template: { image: baseImage }, ...spec });
  const text = async (session: Session, command: string) =>
    (await session.bash(command)).result?.stdout.text ?? "";
  const steps = "for i in 1 2 3 4 5 6; do echo step $i | tee -a steps.log; sleep 1; done; exit 7";
  const six = "step 1\nstep 2\nstep 3\nstep 4\nstep 5\nstep 6\n";

  it("live, stop, resume, and leave nothing", async () => {
    const worker = await startWorker();
    const session = await start();
    expect(await session.bash("id -u; pwd; echo kept > file; exit 3")).toMatchObject({
      outcome: { kind: "exited", exitCode: 3 },
      result: { stdout: { text: "1000\n/workspace\n" } },
    });
    expect(await session.write({ path: "a/b.txt", content: "x" })).toMatchObject({ outcome: { kind: "ok" } });
    expect(await labelled()).toHaveLength(1);
    await session.stop({ wait: true });
    expect(await text(session, "cat file a/b.txt")).toBe("kept\nx");
    expect(await session.delete({ wait: true })).toMatchObject({ cleanup: "done" });
    expect(await labelled()).toEqual([]);
    await worker.end("SIGTERM");
  });

  it("B15 [proc-client-dies] a killed worker's command goes on; the next one attaches: one copy, one answer", async () => {
    const first = await startWorker();
    const session = await start();
    await session.bash("true");
    const answer = session.bash(steps);
    await until(async () => (await session.state()).calls.running === 1);
    await sleep(1_500);
    await first.end("SIGKILL");
    const second = await startWorker();
    expect(await answer).toMatchObject({
      outcome: { kind: "exited", exitCode: 7 },
      result: { stdout: { text: six } },
    });
    expect(await text(session, "cat steps.log")).toBe(six);
    await session.delete({ wait: true });
    await second.end("SIGTERM");
  }, 120_000);

  it("SIGTERM during a command: the next worker attaches at once, and nobody sees `cancelled`", async () => {
    const first = await startWorker();
    const session = await start();
    await session.bash("true");
    const answer = session.bash(steps);
    await until(async () => (await session.state()).calls.running === 1);
    const second = await startWorker();
    await first.end("SIGTERM");
    expect(await answer).toMatchObject({
      outcome: { kind: "exited", exitCode: 7 },
      result: { stdout: { text: six } },
    });
    expect(await text(session, "cat steps.log")).toBe(six);
    await session.delete({ wait: true });
    await second.end("SIGTERM");
  }, 120_000);

  it("B79 [temporal-double-attempt] a worker stopped past its heartbeat and continued: one copy, one answer", async () => {
    const first = await startWorker();
    const session = await start();
    await session.bash("true");
    const command = "echo s >> log; sleep 45; echo e >> log; cat log";
    const answer = session.call({ tool: "bash", input: { command }, timeoutMs: 200_000 });
    await until(async () => (await session.state()).calls.running === 1);
    await sleep(1_000);
    const second = await startWorker();
    first.signal("SIGSTOP");
    await sleep(40_000);
    first.signal("SIGCONT");
    expect((await answer).outcome).toEqual({ kind: "exited", exitCode: 0 });
    expect(await text(session, "cat log")).toBe("s\ne\n");
    await session.delete({ wait: true });
    await first.end("SIGTERM");
    await second.end("SIGTERM");
  }, 180_000);

  it("a container stopped behind the session's back: what ran is lost, the files and the session go on", async () => {
    const worker = await startWorker();
    const session = await start();
    await session.bash("echo kept > file");
    const running = session.bash("echo begun; sleep 100");
    await until(async () => (await session.state()).calls.running === 1);
    await sleep(1_000);
    await docker("kill", (await session.state()).sandboxId ?? "");
    expect((await running).outcome).toMatchObject({ kind: "lost" });
    expect(await text(session, "cat file")).toBe("kept\n");
    expect((await session.state()).generation?.number).toBe(1);
    await session.delete({ wait: true });
    await worker.end("SIGTERM");
  }, 120_000);

  it("B30 [life-lost-state] a removed container ends the session as lost, or is made anew, as the spec says", async () => {
    const worker = await startWorker();
    const failing = await start();
    const recreated = await start({ onLost: "recreate" });
    for (const session of [failing, recreated]) {
      await session.bash("echo gen1 > gen1");
      const running = session.bash("sleep 100");
      await until(async () => (await session.state()).calls.running === 1);
      await docker("rm", "-f", (await session.state()).sandboxId ?? "");
      expect((await running).outcome).toEqual({ kind: "lost", reason: expect.any(String) as string });
    }
    await expect(failing.result()).rejects.toMatchObject({ code: "session-lost" });
    expect(await recreated.bash("ls")).toMatchObject({ result: { stdout: { text: "" } }, generation: 2 });
    expect(await recreated.delete({ wait: true })).toMatchObject({ generations: 2, cleanup: "done" });
    expect(await labelled()).toEqual([]);
    await worker.end("SIGTERM");
  }, 120_000);

  it("cancelCall ends the command inside the container within seconds, with what it said", async () => {
    const worker = await startWorker();
    const session = await start();
    await session.bash("true");
    const callId = randomUUID();
    const answer = session.call({
      callId,
      tool: "bash",
      input: { command: "echo partial; exec -a B15 sleep 600" },
    });
    await until(async () => (await session.getCall(callId))?.status === "running");
    await session.cancelCall(callId);
    expect(await answer).toMatchObject({
      outcome: { kind: "cancelled", by: "cancelCall" },
      result: { stdout: { text: "partial\n" } },
    });
    expect(await text(session, "pgrep -x B15; pgrep -x sleep; echo none")).toBe("none\n");
    await session.delete({ wait: true });
    await worker.end("SIGTERM");
  });
});
