import { setTimeout as sleep } from "node:timers/promises";
import type { Session } from "../../client/index.js";
import { outcomeNote } from "../answer-text.js";
import { expect, outputOf, unexpected, type Transcript } from "./transcript.js";
import type { WorkerChild } from "./worker-child.js";

const steps = 8;
const command = `for i in $(seq ${steps}); do echo "step $i" >> steps.log; sleep 1; done; echo "finished after $(wc -l < steps.log) steps"`;

/**
 * SIGKILL while a command runs, and what the next worker makes of it: its real answer where sandboxes outlive
 * workers, an honest `lost` where they can't. Never a second run.
 */
export async function killInMidCall(options: {
  readonly session: Session;
  readonly worker: WorkerChild;
  readonly startNext: () => Promise<WorkerChild>;
  readonly log: Transcript;
}): Promise<{ nextWorker: WorkerChild; text: string }> {
  const { session, worker, log } = options;
  const callId = "killed-in-the-middle";
  log.say(`$ ${command}`);
  log.count(1);
  const call = session.call({ callId, tool: "bash", input: { command } });
  // Handled where it is awaited; a failure before that must not end the process.
  call.catch(() => undefined);
  await untilRunning(session, callId);
  await sleep(2_000);
  await worker.kill();
  log.say(`kill -9 ${worker.pid}   # the worker, while the command runs`);
  const nextWorker = await options.startNext();
  log.say(`next worker: process ${nextWorker.pid}; the session answers meanwhile:`);
  await log.bash(session, "wc -l < execa/index.js");
  const answer = await call;
  const { survivesWorker } = (await session.state()).capabilities;
  const said = outcomeNote(answer.outcome) ?? outputOf(answer).trim();
  log.say(`answer of ${callId}: ${JSON.stringify(answer.outcome)} ${outputOf(answer).trim()}`);
  const done = (await log.bash(session, "cat steps.log")).trim().split("\n");
  expect(new Set(done).size === done.length, "no step ran twice");
  if (survivesWorker === true) {
    if (answer.outcome?.kind !== "exited" || answer.outcome.exitCode !== 0) throw unexpected(command, answer);
    expect(done.length === steps, `all ${steps} steps ran`);
    return { nextWorker, text: `answered by the next worker: ${said}; each step ran once` };
  }
  if (answer.outcome?.kind !== "lost") throw unexpected(command, answer);
  return { nextWorker, text: `lost, and says so; ${done.length} of ${steps} steps ran, none twice` };
}

async function untilRunning(session: Session, callId: string): Promise<void> {
  while ((await session.getCall(callId))?.status !== "running") await sleep(100);
}
