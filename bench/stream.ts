import { execa } from "execa";
import type { Bench } from "./bench.js";
import { quantiles, timed } from "./quantile.js";
import { call, openBenchSandbox } from "./sandbox.js";

const sizeBytes = 100_000_000;
const script = `head -c ${sizeBytes} /dev/zero`;

/** 100 MB of output, read and counted: through the guest with its spool, and from a plain `docker exec`. */
export const benchStream: Bench = async ({ samples }) => {
  const sandbox = await openBenchSandbox();
  try {
    const handle = await sandbox.start();
    const channel = await sandbox.connect(handle);
    const ours: number[] = [];
    const raw: number[] = [];
    for (let sample = 0; sample < samples; sample += 1) {
      ours.push(await timed(() => call(channel, script).then(expectAll)));
      raw.push(await timed(() => readRaw(handle.sandboxId).then(expectAll)));
    }
    await channel.close();
    const megabytesPerSecond = (durations: readonly number[]): number =>
      sizeBytes / 1000 / quantiles(durations).p50;
    const throughput = { ours: megabytesPerSecond(ours), raw: megabytesPerSecond(raw) };
    return {
      name: "stream",
      provider: "docker",
      ratios: { throughput: throughput.ours / throughput.raw },
      samples,
      ours: { megabytesPerSecond: throughput.ours },
      raw: { megabytesPerSecond: throughput.raw },
    };
  } finally {
    await sandbox.close();
  }
};

async function readRaw(containerId: string): Promise<number> {
  const child = execa("docker", ["exec", containerId, "bash", "-lc", script], { buffer: false });
  let receivedBytes = 0;
  child.stdout.on("data", (chunk: Buffer) => {
    receivedBytes += chunk.length;
  });
  await child;
  return receivedBytes;
}

function expectAll(receivedBytes: number): void {
  if (receivedBytes !== sizeBytes) throw new Error(`${receivedBytes} bytes instead of ${sizeBytes}`);
}
