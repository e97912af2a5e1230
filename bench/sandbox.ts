import { randomUUID } from "node:crypto";
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import type { Artifact, Handle } from "../src/contract/sandbox.js";
import { resolveSpec, type ResolvedSpec } from "../src/contract/spec.js";
import type { Channel } from "../src/providers/channel.js";
import { createDockerProvider } from "../src/providers/docker/docker-provider.js";
import type { OperationContext, Provider } from "../src/providers/provider.js";

export const benchImage = "holdfast-base:bookworm";

/** A provider, its template and what it started; `close` removes all of it. */
export interface BenchSandbox {
  readonly provider: Provider;
  readonly artifact: Artifact;
  readonly spec: ResolvedSpec;
  start(): Promise<Handle>;
  connect(handle: Handle): Promise<Channel>;
  remove(handle: Handle): Promise<void>;
  close(): Promise<void>;
}

export const context: OperationContext = {
  signal: new AbortController().signal,
  onProgress: () => undefined,
};

export async function openBenchSandbox(): Promise<BenchSandbox> {
  const owner = `bench-${randomUUID()}`;
  const environment = Object.fromEntries(
    Object.entries(process.env).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
  const guestDirectory = fileURLToPath(new URL("../guest/bin", import.meta.url));
  const provider = createDockerProvider({
    command: "docker",
    environment,
    owner,
    hostId: "bench",
    guestDirectory,
  });
  const spec = resolveSpec({ provider: "docker", template: { image: benchImage } });
  const artifact = await provider.prepare(spec, context);
  const handles = new Set<Handle>();
  const remove = async (handle: Handle): Promise<void> => {
    await provider.remove({ session: handle.session, upToGeneration: handle.generation.number }, context);
    handles.delete(handle);
  };
  return {
    provider,
    artifact,
    spec,
    async start() {
      const session = { sessionId: randomUUID(), runId: randomUUID() };
      const handle = await provider.start({ session, generation: 1, spec, artifact }, context);
      handles.add(handle);
      return handle;
    },
    connect: (handle) => provider.connect(handle, context),
    remove,
    async close() {
      for (const handle of handles) await remove(handle);
      await docker("rmi", "--force", String(artifact.data["imageId"]));
    },
  };
}

export async function docker(...args: string[]): Promise<string> {
  return (await execa("docker", args)).stdout;
}

/** Runs a script to its end, throws unless it exits with 0. Output is counted and dropped. */
export async function call(channel: Channel, script: string): Promise<number> {
  const callId = randomUUID();
  let receivedBytes = 0;
  const started = channel.run({
    callId,
    script,
    cwd: "/workspace",
    env: {},
    timeoutMs: 600_000,
    outputLimitBytes: 1024 ** 3,
  });
  const [, end] = await Promise.all([
    started,
    channel.follow(callId, {
      from: { stdout: 0, stderr: 0 },
      signal: context.signal,
      onOutput: (_stream, bytes) => {
        receivedBytes += bytes.length;
      },
    }),
  ]);
  if (end.outcome.kind !== "exited" || end.outcome.exitCode !== 0) {
    throw new Error(`the command ended as ${JSON.stringify(end.outcome)}`);
  }
  await channel.acknowledge([callId]);
  return receivedBytes;
}
