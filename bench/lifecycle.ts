import { randomUUID } from "node:crypto";
import type { Bench } from "./bench.js";
import { quantiles, timed } from "./quantile.js";
import { runArguments } from "../src/providers/docker/run-arguments.js";
import { call, context, docker, openBenchSandbox } from "./sandbox.js";

/** Start and resume, each to the first answer of a command; raw is the same `docker run` and a `docker exec`. */
export const benchLifecycle: Bench = async ({ samples }) => {
  const sandbox = await openBenchSandbox();
  const { spec, artifact, provider } = sandbox;
  const series = { start: [], resume: [], rawStart: [], rawResume: [] } as Record<string, number[]>;
  try {
    for (let sample = 0; sample < samples; sample += 1) {
      let handle = undefined as Awaited<ReturnType<typeof sandbox.start>> | undefined;
      const answer = async (): Promise<void> => {
        if (handle === undefined) throw new Error("nothing was started");
        const channel = await sandbox.connect(handle);
        await call(channel, "true");
        closing.push(channel.close());
      };
      const closing: Promise<void>[] = [];
      series["start"]?.push(
        await timed(async () => {
          handle = await sandbox.start();
          await answer();
        }),
      );
      if (handle === undefined) throw new Error("nothing was started");
      await provider.stop(handle, { graceMs: 0 }, context);
      const stopped = handle;
      series["resume"]?.push(
        await timed(async () => {
          await provider.resume(stopped, context);
          await answer();
        }),
      );
      await Promise.all(closing);
      await sandbox.remove(handle);

      const name = `hf-bench-${randomUUID()}`;
      const args = runArguments({
        name,
        imageId: String(artifact.data["imageId"]),
        labels: { owner: "bench-raw", role: "session", hostId: "bench", createdAtMs: Date.now() },
        spec,
        uid: 1000,
        gid: 1000,
      });
      const exec = (): Promise<string> => docker("exec", name, "bash", "-lc", "true");
      series["rawStart"]?.push(await timed(() => docker(...args).then(exec)));
      await docker("stop", "--time", "5", name);
      series["rawResume"]?.push(await timed(() => docker("start", name).then(exec)));
      await docker("rm", "--force", name);
    }
    const median = (name: string): number => quantiles(series[name] ?? []).p50;
    return {
      name: "lifecycle",
      provider: "docker",
      ratios: {
        start: median("start") / median("rawStart"),
        resume: median("resume") / median("rawResume"),
      },
      samples,
      ours: { startMs: median("start"), resumeMs: median("resume") },
      raw: { startMs: median("rawStart"), resumeMs: median("rawResume") },
    };
  } finally {
    await sandbox.close();
  }
};
