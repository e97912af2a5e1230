import type { Bench } from "./bench.js";
import { quantiles, timed } from "./quantile.js";
import { call, docker, openBenchSandbox } from "./sandbox.js";

const atOnce = 8;

/** Eight small commands at once, until the last one has ended. */
export const benchParallel: Bench = async ({ samples }) => {
  const sandbox = await openBenchSandbox();
  try {
    const handle = await sandbox.start();
    const channel = await sandbox.connect(handle);
    const all = (work: () => Promise<unknown>): Promise<number> =>
      timed(() => Promise.all(Array.from({ length: atOnce }, work)));
    const ours: number[] = [];
    const raw: number[] = [];
    for (let sample = 0; sample < samples; sample += 1) {
      ours.push(await all(() => call(channel, "true")));
      raw.push(await all(() => docker("exec", handle.sandboxId, "bash", "-lc", "true")));
    }
    await channel.close();
    const wall = { ours: quantiles(ours).p50, raw: quantiles(raw).p50 };
    return {
      name: "parallel",
      provider: "docker",
      ratios: { wall: wall.ours / wall.raw },
      samples,
      ours: { wallMs: wall.ours },
      raw: { wallMs: wall.raw },
    };
  } finally {
    await sandbox.close();
  }
};
