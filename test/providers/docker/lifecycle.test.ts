import { afterAll, beforeAll, expect, it } from "vitest";
import type { Artifact, Handle } from "../../../src/contract/sandbox.js";
import type { Channel } from "../../../src/providers/channel.js";
import type { Provider } from "../../../src/providers/provider.js";
import { describeDocker } from "../../support/describe-docker.js";
import { context, createInstallation, docker, dockerSpec, newSession } from "../../support/docker-engine.js";
import { runCommand, startCommand } from "../../support/run-command.js";

describeDocker("life of a sandbox", () => {
  const installation = createInstallation();
  const spec = dockerSpec();
  let provider: Provider;
  let artifact: Artifact;
  beforeAll(async () => {
    provider = installation.provider();
    artifact = await provider.prepare(spec, context());
  });
  afterAll(() => installation.cleanUp());

  const start = (session = newSession(), generation = 1): Promise<Handle> =>
    provider.start({ session, generation, spec, artifact }, context());
  const withChannel = async <T>(handle: Handle, work: (channel: Channel) => Promise<T>): Promise<T> => {
    const channel = await provider.connect(handle, context());
    try {
      return await work(channel);
    } finally {
      await channel.close();
    }
  };
  const removeAll = (handle: Handle): Promise<void> =>
    provider.remove({ session: handle.session, upToGeneration: handle.generation.number }, context());

  it("starts, runs, stops, resumes with its files, removes, and leaves nothing", async () => {
    const handle = await start();
    expect(JSON.parse(JSON.stringify(handle))).toEqual(handle);
    const before = await withChannel(handle, async (channel) => {
      const { end, stdout } = await runCommand(channel, "echo kept >file; echo out; exit 3");
      expect(end.outcome).toEqual({ kind: "exited", exitCode: 3 });
      expect(stdout).toBe("out\n");
      return channel.epoch;
    });
    await provider.stop(handle, { graceMs: 0 }, context());
    await provider.stop(handle, { graceMs: 0 }, context());
    await expect(provider.connect(handle, context())).rejects.toMatchObject({ code: "closed" });

    // Another worker, from the handle alone.
    const other = installation.provider();
    expect(await other.resume(handle, context())).toEqual(handle);
    await other.resume(handle, context());
    await withChannel(handle, async (channel) => {
      expect(channel.epoch).not.toBe(before);
      expect((await runCommand(channel, "cat file")).stdout).toBe("kept\n");
    });

    await removeAll(handle);
    await removeAll(handle);
    expect(await installation.containers()).toEqual([]);
    await expect(provider.resume(handle, context())).rejects.toMatchObject({ code: "session-lost" });
    await expect(provider.connect(handle, context())).rejects.toMatchObject({ code: "session-lost" });
    await provider.stop(handle, { graceMs: 0 }, context());
  });

  it("the floor: no capabilities, no new privileges, limits, no network, the session user", async () => {
    const handle = await start();
    const [inspected] = JSON.parse(await docker("inspect", handle.sandboxId)) as [
      { HostConfig: Record<string, unknown>; Config: { Env: string[]; Healthcheck?: unknown } },
    ];
    expect(inspected.HostConfig).toMatchObject({
      CapDrop: ["ALL"],
      SecurityOpt: ["no-new-privileges"],
      NetworkMode: "none",
      Privileged: false,
      PidsLimit: spec.limits.pids + 64,
      Memory: spec.limits.memoryBytes,
      MemorySwap: spec.limits.memoryBytes,
      NanoCpus: 1e9,
      Binds: null,
    });
    await withChannel(handle, async (channel) => {
      const script =
        "id -u; id -g; grep -E '^(CapEff|CapPrm|NoNewPrivs)' /proc/self/status; ls /sys/class/net; pwd";
      expect((await runCommand(channel, script)).stdout.split(/\s+/)).toEqual(
        // prettier-ignore
        ["1000", "1000", "CapPrm:", "0000000000000000", "CapEff:", "0000000000000000", "NoNewPrivs:", "1", "lo",
         "/workspace", ""],
      );
      const mounts = (
        await runCommand(
          channel,
          "grep /mnt/session/ /proc/mounts; touch /mnt/session/outputs/x; touch /mnt/session/uploads/x",
        )
      ).stdout;
      expect(mounts).toMatch(/uploads tmpfs rw,nosuid,nodev,noexec.*size=65536k/);
      expect(mounts).toMatch(/outputs tmpfs rw,nosuid,nodev,noexec.*size=102400k.*uid=1000,gid=1000/);
      const { stdout } = await runCommand(channel, "ls /mnt/session/outputs /mnt/session/uploads");
      expect(stdout).toBe("/mnt/session/outputs:\nx\n\n/mnt/session/uploads:\n");
    });
    await removeAll(handle);
  });

  it("stop ends running commands, and their records say so after the resume", async () => {
    const handle = await start();
    const callId = "stopped-one";
    await withChannel(handle, async (channel) => {
      const { started, done } = startCommand(channel, "echo begun; sleep 600", { callId });
      await started;
      await provider.stop(handle, { graceMs: 500 }, context());
      // Told while the guest goes down, or not at all: the record counts.
      await done.catch(() => undefined);
    });
    await provider.resume(handle, context());
    await withChannel(handle, async (channel) => {
      const again = await runCommand(channel, "echo begun; sleep 600", { callId });
      expect(again.end.outcome).toEqual({ kind: "cancelled", by: "stop" });
      expect(again.stdout).toBe("begun\n");
    });
    await removeAll(handle);
  });

  it("switches the network at run time, also twice and while stopped", async () => {
    const handle = await start();
    const interfaces = (channel: Channel): Promise<string> =>
      runCommand(channel, "ls /sys/class/net | tr '\\n' ' '").then(({ stdout }) => stdout.trim());
    await withChannel(handle, async (channel) => {
      await provider.setNetworkPolicy(handle, "allow-all", context());
      await provider.setNetworkPolicy(handle, "allow-all", context());
      expect(await interfaces(channel)).toMatch(/eth0/);
      await provider.setNetworkPolicy(handle, "deny-all", context());
      expect(await interfaces(channel)).toBe("lo");
    });
    await provider.stop(handle, { graceMs: 0 }, context());
    await provider.setNetworkPolicy(handle, "allow-all", context());
    await provider.resume(handle, context());
    await withChannel(handle, async (channel) => {
      expect(await interfaces(channel)).toMatch(/eth0/);
    });
    await expect(
      provider.setNetworkPolicy(handle, { allow: ["example.org"] }, context()),
    ).rejects.toMatchObject({ code: "unsupported" });
    await removeAll(handle);
  });

  it("a paused sandbox is unavailable, not lost, and can be stopped and removed", async () => {
    const handle = await start();
    await docker("pause", handle.sandboxId);
    await expect(provider.connect(handle, context())).rejects.toMatchObject({ code: "unavailable" });
    await provider.stop(handle, { graceMs: 0 }, context());
    await provider.resume(handle, context());
    await docker("pause", handle.sandboxId);
    await provider.resume(handle, context());
    await withChannel(handle, async (channel) => {
      expect((await runCommand(channel, "echo ok")).stdout).toBe("ok\n");
    });
    await docker("pause", handle.sandboxId);
    await removeAll(handle);
    expect(await installation.containers()).toEqual([]);
  });

  it("an engine of another endpoint is a typed error, never a lost session", async () => {
    const handle = await start();
    const elsewhere = { ...handle, data: { ...handle.data, endpoint: "tcp://192.0.2.1:2375" } };
    for (const attempt of [
      () => provider.resume(elsewhere, context()),
      () => provider.connect(elsewhere, context()),
      () => provider.stop(elsewhere, { graceMs: 0 }, context()),
      () => provider.setNetworkPolicy(elsewhere, "deny-all", context()),
    ]) {
      await expect(attempt()).rejects.toMatchObject({ code: "unavailable", message: /192\.0\.2\.1/ });
    }
    const garbled = { ...handle, sandboxId: "-f" };
    await expect(provider.connect(garbled, context())).rejects.toMatchObject({ code: "invalid-request" });
    await removeAll(handle);
  });

  it("resume refuses another generation's handle", async () => {
    const handle = await start();
    const other = { ...handle, generation: { number: 1, key: "another" } };
    await expect(provider.resume(other, context())).rejects.toMatchObject({ code: "conflict" });
    await removeAll(handle);
  });

  it("an aborted start removes what it made", async () => {
    const abort = new AbortController();
    const starting = provider.start(
      { session: newSession(), generation: 1, spec, artifact },
      {
        signal: abort.signal,
        onProgress: () => {
          abort.abort();
        },
      },
    );
    await expect(starting).rejects.toMatchObject({ code: "unavailable" });
    expect(await installation.containers()).toEqual([]);
  });

  it("limits the engine refuses leave no corpse and are the caller's error", async () => {
    const session = newSession();
    const greedy = { ...spec, limits: { ...spec.limits, cpus: 10_000 } };
    await expect(
      provider.start({ session, generation: 1, spec: greedy, artifact }, context()),
    ).rejects.toMatchObject({ code: "invalid-request" });
    expect(await installation.containers()).toEqual([]);
  });
});
