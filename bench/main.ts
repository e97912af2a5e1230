import { defineCommand, runMain } from "citty";
import type { Bench, BenchResult } from "./bench.js";
import { benchCall } from "./call.js";
import { benchLifecycle } from "./lifecycle.js";
import { benchMemory } from "./memory.js";
import { benchParallel } from "./parallel.js";
import { benchStream } from "./stream.js";

const benches: Readonly<Record<string, { bench: Bench; samples: number }>> = {
  call: { bench: benchCall, samples: 100 },
  parallel: { bench: benchParallel, samples: 30 },
  stream: { bench: benchStream, samples: 7 },
  memory: { bench: benchMemory, samples: 1 },
  lifecycle: { bench: benchLifecycle, samples: 15 },
};

const main = defineCommand({
  meta: { name: "bench", description: "Side by side with plain docker, in one run. Needs an engine." },
  args: {
    name: { type: "positional", description: Object.keys(benches).join(", "), required: true },
    json: { type: "boolean", description: "The result as JSON in the last line" },
    samples: { type: "string", description: "How many of each" },
  },
  async run({ args }) {
    const chosen = benches[args.name];
    if (chosen === undefined)
      throw new Error(`no benchmark ${args.name}: ${Object.keys(benches).join(", ")}`);
    const samples = Number(args.samples ?? chosen.samples);
    const note = (line: string): void => {
      process.stderr.write(`${line}\n`);
    };
    const result = await chosen.bench({ samples, note });
    process.stdout.write(args.json ? `${JSON.stringify(result)}\n` : table(result));
  },
});

function table({ name, provider, samples, ours, raw, ratios }: BenchResult): string {
  const row = (title: string, values: Readonly<Record<string, number>>): string =>
    `${title.padEnd(8)}${Object.entries(values)
      .map(([key, value]) => `${key} ${value.toFixed(2)}`)
      .join("  ")}\n`;
  const head = `${name} on ${provider}, ${samples} samples each\n`;
  return head + row("ours", ours) + row("raw", raw) + row("ratio", ratios);
}

await runMain(main);
