import type { Bench } from "./bench.js";
import { call, docker, openBenchSandbox } from "./sandbox.js";

const sizeBytes = 700_000_000;
const megabyte = 1024 * 1024;

/** How far 700 MB of output move this process's memory, and what a channel and a guest cost at rest. */
export const benchMemory: Bench = async ({ note }) => {
  const sandbox = await openBenchSandbox();
  try {
    const handle = await sandbox.start();
    const channel = await sandbox.connect(handle);
    for (let warmUp = 0; warmUp < 20; warmUp += 1) await call(channel, "head -c 1000000 /dev/zero");
    const before = process.memoryUsage().rss;
    let peak = before;
    const watch = setInterval(() => {
      peak = Math.max(peak, process.memoryUsage().rss);
    }, 20);
    const receivedBytes = await call(channel, `yes | head -c ${sizeBytes}`);
    clearInterval(watch);
    if (receivedBytes !== sizeBytes) throw new Error(`${receivedBytes} bytes instead of ${sizeBytes}`);
    const guest = await docker("exec", handle.sandboxId, "ps", "-eo", "rss=,nlwp=,args=");
    note(`in the sandbox (RSS in KB, threads, command):\n${guest}`);
    await channel.close();
    const growth = (peak - before) / megabyte;
    return {
      name: "memory",
      provider: "docker",
      ratios: { growth: (growth * megabyte) / sizeBytes },
      samples: 1,
      ours: { growthMegabytes: growth },
      raw: { outputMegabytes: sizeBytes / megabyte },
    };
  } finally {
    await sandbox.close();
  }
};
