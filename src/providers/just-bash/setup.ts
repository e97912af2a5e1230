import { mkdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import type { ResolvedSpec } from "../../contract/spec.js";
import { ProviderError } from "../errors.js";
import type { OperationContext } from "../provider.js";
import { CallExecution } from "./call-execution.js";
import { CallRecord } from "./call-record.js";
import type { Host } from "./host.js";

/** How much of a failed command's output goes into the error. */
const shownBytes = 4 * 1024;
const outputLimitBytes = 16 * 1024 ** 2;

interface Setup {
  readonly host: Host;
  readonly spec: ResolvedSpec;
  /** The template that is being built. */
  readonly directory: string;
  readonly context: OperationContext;
}

/** Runs the template's setup commands in order. The first that fails ends it with `template-failed`. */
export async function runSetup(setup: Setup): Promise<void> {
  const root = join(setup.directory, "root");
  const records = join(setup.directory, "setup");
  const commands = setup.spec.template.setup ?? [];
  try {
    for (const [index, command] of commands.entries()) {
      setup.context.signal.throwIfAborted();
      const line = command.split("\n", 1)[0] ?? "";
      setup.context.onProgress(`setup ${index + 1} of ${commands.length}: ${line.slice(0, 100)}`);
      const record = new CallRecord(join(records, String(index)));
      await mkdir(record.directory, { recursive: true });
      await runCommand({ ...setup, root, command, index, record });
    }
  } finally {
    setup.host.pool.drop(root);
    await rm(records, { recursive: true, force: true });
  }
}

async function runCommand(
  step: Setup & { root: string; command: string; index: number; record: CallRecord },
): Promise<void> {
  const { host, spec, context, root, command, index, record } = step;
  const execution = new CallExecution(
    {
      record,
      root,
      session: {
        user: spec.user,
        // A template may be built with what it downloads; its sessions keep to their own policy.
        network: "allow-all",
        memoryBytes: spec.limits.memoryBytes,
        env: spec.template.env ?? {},
      },
      request: {
        callId: `setup-${index}`,
        script: command,
        cwd: spec.workspace,
        env: {},
        timeoutMs: spec.timeouts.startMs,
        outputLimitBytes,
      },
      startedAtMs: Date.now(),
    },
    host.pool,
  );
  const abort = (): void => {
    execution.interrupt({ kind: "closing" }, 0);
  };
  context.signal.addEventListener("abort", abort, { once: true });
  try {
    await execution.finish();
  } finally {
    context.signal.removeEventListener("abort", abort);
  }
  context.signal.throwIfAborted();
  const outcome = (await record.readEnd())?.outcome;
  if (outcome?.kind === "exited" && outcome.exitCode === 0) return;
  const how = outcome?.kind === "exited" ? `exit code ${outcome.exitCode}` : (outcome?.kind ?? "unknown end");
  throw new ProviderError(
    "template-failed",
    `setup command failed (${how}): ${command}\n${await tail(record)}`,
    {
      field: `spec.template.setup.${index}`,
      hint: "Correct the command; nothing of this template was kept.",
    },
  );
}

async function tail(record: CallRecord): Promise<string> {
  const parts = await Promise.all([
    readFile(record.outputPath("stdout")),
    readFile(record.outputPath("stderr")),
  ]);
  return Buffer.concat(parts).subarray(-shownBytes).toString("utf8");
}
