import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, expect, it } from "vitest";
import type { Handle } from "../../../src/contract/sandbox.js";
import type { TemplateSpec } from "../../../src/contract/spec.js";
import { createDockerProvider } from "../../../src/providers/docker/docker-provider.js";
import type { Provider } from "../../../src/providers/provider.js";
import { describeDocker } from "../../support/describe-docker.js";
import {
  baseImage,
  context,
  createInstallation,
  docker,
  dockerSpec,
  guestDirectory,
  newSession,
} from "../../support/docker-engine.js";
import { runCommand, type CommandResult } from "../../support/run-command.js";

describeDocker("templates", () => {
  const installation = createInstallation();
  const provider = installation.provider();
  afterEach(() => installation.cleanUp());

  const specOf = (template: Partial<TemplateSpec>) =>
    dockerSpec({ template: { image: baseImage, ...template } });
  const runIn = async (own: Provider, handle: Handle, script: string): Promise<CommandResult> => {
    const channel = await own.connect(handle, context());
    try {
      return await runCommand(channel, script);
    } finally {
      await channel.close();
    }
  };

  it("setup commands run as root in the workspace, one after the other, and their files are the session user's", async () => {
    const spec = specOf({
      setup: [
        `printf '%s\\n' "a'b\\"c" >made; id -u >>made; cat >>made; echo $TPL >>made`,
        "test -s made && touch second",
      ],
      env: { TPL: "from template,\nsecond line" },
    });
    const progress: string[] = [];
    const artifact = await provider.prepare(spec, {
      signal: new AbortController().signal,
      onProgress: (line) => progress.push(line),
    });
    expect(progress.join("\n")).toContain("setup command 2 of 2");
    const handle = await provider.start({ session: newSession(), generation: 1, spec, artifact }, context());
    const { stdout } = await runIn(provider, handle, `cat made; stat -c %U made second; printf %s "$TPL"`);
    expect(stdout).toBe(
      `a'b"c\n0\nfrom template, second line\nsandbox\nsandbox\nfrom template,\nsecond line`,
    );
    // Only the template is left: no build container, nothing of its processes.
    expect(await installation.containers()).toEqual([handle.sandboxId]);
  });

  it("a template is built once, found by its key without an artifact, and not by another's", async () => {
    const spec = specOf({ setup: ["cat /proc/sys/kernel/random/uuid >built"] });
    const session = newSession();
    await expect(provider.start({ session, generation: 1, spec }, context())).rejects.toMatchObject({
      code: "template-not-provisioned",
    });
    const first = await provider.prepare(spec, context());
    expect(await installation.provider().prepare(spec, context())).toEqual(first);
    const handle = await installation.provider().start({ session, generation: 1, spec }, context());
    expect(handle.templateKey).toBe(first.templateKey);
    const other = await provider.prepare(specOf({ ...spec.template, revision: "2" }), context());
    expect(other.templateKey).not.toBe(first.templateKey);
    expect(other.data["imageId"]).not.toBe(first.data["imageId"]);
  });

  it("B30 [life-lost-state] a template whose image is gone is noticed at start, and built again", async () => {
    const spec = specOf({});
    const artifact = await provider.prepare(spec, context());
    await docker("rmi", "-f", String(artifact.data["imageId"]));
    const request = { session: newSession(), generation: 1, spec };
    await expect(provider.start({ ...request, artifact }, context())).rejects.toMatchObject({
      code: "template-not-provisioned",
    });
    const again = await provider.prepare(spec, context());
    const handle = await provider.start({ ...request, artifact: again }, context());
    expect((await runIn(provider, handle, "echo ok")).stdout).toBe("ok\n");
  });

  it("B30 [life-lost-state] a removed container is lost before any command meets it", async () => {
    const spec = specOf({});
    const artifact = await provider.prepare(spec, context());
    const handle = await provider.start({ session: newSession(), generation: 1, spec, artifact }, context());
    await provider.stop(handle, { graceMs: 0 }, context());
    await docker("rm", "-f", handle.sandboxId);
    await expect(provider.resume(handle, context())).rejects.toMatchObject({ code: "session-lost" });
  });

  it("B35 [tmpl-stampede] eight at once from two workers: all sessions have the same", async () => {
    const spec = specOf({ setup: ["cat /proc/sys/kernel/random/uuid >built; sleep 1"] });
    const workers = [installation.provider(), installation.provider()];
    const artifacts = await Promise.all(
      Array.from({ length: 8 }, (_, index) => (workers[index % 2] ?? provider).prepare(spec, context())),
    );
    // Two processes may both have built; every session then starts from the one that holds the key.
    const built = await Promise.all(
      [artifacts[0], artifacts[1], artifacts[7]].map(async () => {
        const handle = await provider.start({ session: newSession(), generation: 1, spec }, context());
        return (await runIn(provider, handle, "cat built")).stdout;
      }),
    );
    expect(new Set(built).size).toBe(1);
    const left = await docker(
      "ps",
      "-aq",
      "--filter",
      "label=dev.holdfast.role=template-build",
      "--filter",
      `label=dev.holdfast.owner=${encodeURIComponent(installation.owner)}`,
    );
    expect(left).toBe("");
  });

  it("a setup command that fails is a typed error with its output, and nothing is kept", async () => {
    const spec = specOf({ setup: ["echo before", "echo why >&2; exit 7"] });
    await expect(provider.prepare(spec, context())).rejects.toMatchObject({
      code: "template-failed",
      message: /setup command 2 of 2 failed with exit code 7[^]*why/,
    });
    expect(await installation.containers()).toEqual([]);
    await expect(
      provider.start({ session: newSession(), generation: 1, spec }, context()),
    ).rejects.toMatchObject({ code: "template-not-provisioned" });
  });

  it("an aborted build leaves no container, and who else waits builds it", async () => {
    const spec = specOf({ setup: ["sleep 2; touch built"] });
    const abort = new AbortController();
    const first = provider.prepare(spec, {
      signal: abort.signal,
      onProgress: (line) => {
        if (line.startsWith("setup"))
          setTimeout(() => {
            abort.abort();
          }, 100);
      },
    });
    first.catch(() => undefined);
    await sleep(50);
    const second = provider.prepare(spec, context());
    await expect(first).rejects.toMatchObject({ code: "unavailable" });
    await expect(second).resolves.toMatchObject({ provider: "docker" });
    expect(await installation.containers()).toEqual([]);
  });

  it("a builder that is killed half-way leaves nothing that matches the key, and a sweep takes the rest", async () => {
    const spec = specOf({ setup: ["sleep 30"] });
    const script = `
      import { createDockerProvider } from "./src/providers/docker/docker-provider.js";
      const provider = createDockerProvider({ command: "docker", environment: process.env, hostId: "test-host",
        owner: ${JSON.stringify(installation.owner)}, guestDirectory: ${JSON.stringify(guestDirectory)} });
      void provider.prepare(${JSON.stringify(spec)}, { signal: new AbortController().signal,
        onProgress: (line) => process.stdout.write(line + "\\n") });`;
    const child = spawn(process.execPath, ["--import", "tsx", "--input-type=module", "-e", script], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    await new Promise<void>((resolve) => {
      child.stdout.on("data", (data: Buffer) => {
        if (data.toString().includes("setup command 1")) resolve();
      });
    });
    child.kill("SIGKILL");
    expect(await installation.containers()).toHaveLength(1);
    await expect(
      provider.start({ session: newSession(), generation: 1, spec }, context()),
    ).rejects.toMatchObject({ code: "template-not-provisioned" });
    const report = await provider.sweep(
      { isStale: ({ kind }) => kind === "template-build", dryRun: false },
      context(),
    );
    expect(report.removed).toHaveLength(1);
    expect(await installation.containers()).toEqual([]);
  });

  it("an image without bash, a missing image, a bad name: typed errors that name it", async () => {
    const directory = await mkdtemp(join(tmpdir(), "holdfast-image-"));
    const tag = `holdfast-test-nobash:${directory.slice(-6).toLowerCase()}`;
    const guest = `holdfast-guest-linux-${await docker("version", "-f", "{{.Server.Arch}}")}`;
    const { execFileSync } = await import("node:child_process");
    execFileSync("tar", ["-C", guestDirectory, "-cf", join(directory, "image.tar"), guest]);
    await docker("import", join(directory, "image.tar"), tag);
    await rm(directory, { recursive: true });
    await expect(provider.prepare(specOf({ image: tag }), context())).rejects.toMatchObject({
      code: "template-failed",
      message: `image ${tag} lacks bash`,
    });
    await docker("rmi", tag);

    await expect(
      provider.prepare(specOf({ image: "holdfast-nowhere:x", pullPolicy: "never" }), context()),
    ).rejects.toMatchObject({ code: "not-found", message: /holdfast-nowhere:x/ });
    for (const image of ["--rm", "-x", "UPPER case", ""]) {
      await expect(provider.prepare(specOf({ image }), context())).rejects.toMatchObject({
        code: "invalid-request",
      });
    }
    expect(await installation.containers()).toEqual([]);
  });

  it("what this provider can't do is refused before anything is made", () => {
    const refused: [Parameters<typeof dockerSpec>[0], string][] = [
      [{ template: { dockerfile: { text: "FROM x" } } }, "unsupported"],
      [{ network: { allow: ["example.org"] } }, "unsupported"],
      [{ template: {} }, "invalid-request"],
      [{ user: "-rf" }, "invalid-request"],
      [{ user: "a:b" }, "invalid-request"],
      [{ workspace: "/etc" }, "invalid-request"],
      [{ workspace: "/mnt/session/uploads/x" }, "invalid-request"],
      [{ workspace: "/home" }, "invalid-request"],
      [{ limits: { memoryBytes: 1000 } }, "invalid-request"],
    ];
    for (const [spec, code] of refused) {
      expect(() => {
        provider.check(dockerSpec(spec));
      }, JSON.stringify(spec)).toThrow(expect.objectContaining({ code }));
    }
    provider.check(dockerSpec({ workspace: "/home/agent", user: "agent" }));
  });

  it("another user and workspace are made in their own template", async () => {
    const spec = dockerSpec({ user: "agent", workspace: "/srv/work dir" });
    const artifact = await provider.prepare(spec, context());
    const handle = await provider.start({ session: newSession(), generation: 1, spec, artifact }, context());
    const channel = await provider.connect(handle, context());
    const { stdout } = await runCommand(channel, "id -un; pwd; touch x && stat -c %U .", {
      cwd: "/srv/work dir",
    });
    expect(stdout).toBe("agent\n/srv/work dir\nagent\n");
    await channel.close();
  });

  it("labels: B39 [reap-labels] a custom value can't pass for another session or owner", async () => {
    const spec = dockerSpec({ labels: { team: 'x,dev.holdfast.session-id=OTHER\n"q"', empty: "" } });
    const artifact = await provider.prepare(spec, context());
    const session = newSession();
    await provider.start({ session, generation: 1, spec, artifact }, context());
    const find = (label: string): Promise<string> => docker("ps", "-aq", "--filter", `label=${label}`);
    expect(await find("dev.holdfast.session-id=OTHER")).toBe("");
    await provider.remove({ session: { ...session, sessionId: "OTHER" }, upToGeneration: 9 }, context());
    expect(await installation.containers()).toHaveLength(1);
    const seen: unknown[] = [];
    await provider.sweep(
      {
        isStale: (resource) => {
          seen.push(resource.session);
          return false;
        },
        dryRun: false,
      },
      context(),
    );
    expect(seen).toEqual([session]);
  });

  it("B42 [reap-foreign] sweep removes what is stale of this owner and host, and reports the rest", async () => {
    const spec = specOf({});
    const artifact = await provider.prepare(spec, context());
    const make = async (own: Provider) =>
      own.start({ session: newSession(), generation: 1, spec, artifact }, context());
    const [stale, live] = [await make(provider), await make(provider)];
    const other = createInstallation();
    const foreign = await make(other.provider());
    const half = await docker(
      "create",
      "--label",
      `dev.holdfast.owner=${encodeURIComponent(installation.owner)}`,
      baseImage,
      "true",
    );
    const isStale = ({ id }: { id: string }): boolean => id !== live.sandboxId;

    const dry = await provider.sweep({ isStale, dryRun: true }, context());
    expect(dry.removed).toEqual([]);
    expect(dry.kept.find(({ id }) => id === stale.sandboxId)?.reason).toMatch(/dry run/);
    expect(await installation.containers()).toHaveLength(3);

    const report = await provider.sweep({ isStale, dryRun: false }, context());
    expect(report.lookedAt).toBe(3);
    expect(report.removed).toMatchObject([{ id: stale.sandboxId, session: stale.session, generation: 1 }]);
    expect(report.kept).toHaveLength(2);
    expect(report.kept).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ id: half, reason: "its labels are incomplete" }),
        expect.objectContaining({ id: live.sandboxId, reason: "not stale" }),
      ]),
    );
    expect(report.failed).toEqual([]);
    expect(new Set(await installation.containers())).toEqual(new Set([half, live.sandboxId]));
    expect(await other.containers()).toEqual([foreign.sandboxId]);
    await other.cleanUp();
    const options = { command: "docker", environment: {}, hostId: "h", guestDirectory };
    expect(() => createDockerProvider({ ...options, owner: "" })).toThrow(/needs an owner/);
  });
});
