import { ratiosOf, type Bench } from "./bench.js";
import { quantiles, timed } from "./quantile.js";
import { call, docker, openBenchSandbox } from "./sandbox.js";

/** One small command: through the open channel, and as a plain `docker exec`. */
export const benchCall: Bench = async ({ samples }) => {
  const sandbox = await openBenchSandbox();
  try {
    const handle = await sandbox.start();
    const channel = await sandbox.connect(handle);
    const ours: number[] = [];
    const raw: number[] = [];
    for (let sample = 0; sample < samples; sample += 1) {
      ours.push(await timed(() => call(channel, "true")));
      raw.push(await timed(() => docker("exec", handle.sandboxId, "bash", "-lc", "true")));
    }
    await channel.close();
    const found = { ours: quantiles(ours), raw: quantiles(raw) };
    const ratios = { ...ratiosOf(found.ours, found.raw) };
    return {
      name: "call",
      provider: "docker",
      ratios,
      samples,
      ours: { ...found.ours },
      raw: { ...found.raw },
    };
  } finally {
    await sandbox.close();
  }
};
