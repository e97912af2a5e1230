import { performance } from "node:perf_hooks";
import { HoldfastError, type Session } from "../../client/index.js";
import type { Answer } from "../../contract/call.js";
import { outcomeNote, textBytes, textsOf } from "../answer-text.js";
import { table } from "../table.js";

export interface StepRow {
  readonly step: string;
  readonly calls: number;
  readonly durationMs: number;
  readonly result: string;
}

/** What the demo does as it does it: nothing is printed that did not happen. */
export interface Transcript {
  readonly rows: readonly StepRow[];
  /** One step: its title, what it prints, and its row in the table at the end. */
  step(title: string, work: () => Promise<string>): Promise<void>;
  /** A bash call, with its output as the session gave it. */
  bash(session: Session, command: string, options?: { callId?: string }): Promise<string>;
  readonly say: (line: string) => void;
  /** Counts calls that are not worth a line each. */
  count(calls: number): void;
  table(): string;
}

export function createTranscript(write: (text: string) => void): Transcript {
  const rows: StepRow[] = [];
  let calls = 0;
  const say = (line: string): void => {
    write(`${line}\n`);
  };
  return {
    rows,
    say,
    count: (more) => void (calls += more),
    async step(title, work) {
      say(`\n== ${title}`);
      calls = 0;
      const startedAt = performance.now();
      const result = await work();
      rows.push({ step: title, calls, durationMs: Math.round(performance.now() - startedAt), result });
      say(`   ${result}`);
    },
    async bash(session, command, options = {}) {
      say(`$ ${command}`);
      calls++;
      const answer = await session.call({ tool: "bash", input: { command }, ...options });
      const output = outputOf(answer);
      for (const line of output.split("\n").filter((text) => text !== "")) say(`  ${line}`);
      if (answer.outcome?.kind === "exited" && answer.outcome.exitCode === 0) return output;
      throw unexpected(`\`${command}\``, answer);
    },
    table: () =>
      table([
        ["STEP", "CALLS", "TIME", "RESULT"],
        ...rows.map((row) => [
          row.step,
          String(row.calls),
          `${(row.durationMs / 1000).toFixed(1)} s`,
          row.result,
        ]),
      ]),
  };
}

export function outputOf(answer: Answer): string {
  return Object.values(textsOf(answer.result))
    .map((text) => textBytes(text).toString("utf8"))
    .join("");
}

export function unexpected(what: string, answer: Answer): HoldfastError {
  const note = outcomeNote(answer.outcome) ?? JSON.stringify(answer.outcome ?? answer.status);
  return new HoldfastError("internal", `demo: ${what} came to ${note} ${outputOf(answer)}`.trim());
}

/** The demo fails, loudly, when what it says is not so. */
export function expect(holds: boolean, claim: string): void {
  if (!holds) throw new HoldfastError("internal", `demo: it does not hold that ${claim}`);
}
