import type { Quantiles } from "./quantile.js";

/** What a benchmark found; with `--json` the last line of the output. */
export interface BenchResult {
  readonly name: string;
  readonly provider: string;
  /** Ours / raw at the same quantile. */
  readonly ratios: Readonly<Record<string, number>>;
  readonly samples: number;
  readonly ours: Readonly<Record<string, number>>;
  readonly raw: Readonly<Record<string, number>>;
}

/** One measurement, whole in one file. Raw and ours take turns in one run, so that both meet the same machine. */
export type Bench = (options: BenchOptions) => Promise<BenchResult>;

export interface BenchOptions {
  readonly samples: number;
  /** A line for people, beside the result. */
  readonly note: (line: string) => void;
}

export function ratiosOf(ours: Quantiles, raw: Quantiles): Quantiles {
  return { p50: ours.p50 / raw.p50, p95: ours.p95 / raw.p95 };
}
