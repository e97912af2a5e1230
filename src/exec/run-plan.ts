import type { ArtifactStore } from "../artifacts/artifact-store.js";
import type { CallDispatch, CallEnding } from "../contract/activities.js";
import { defaultCallTimeoutMs, limits } from "../contract/names.js";
import type { ArtifactRef } from "../contract/refs.js";
import { ProviderError } from "../providers/errors.js";
import type { Command, CommandEnd, Tools } from "../tools/tool.js";
import { runToEnd } from "./attach.js";
import type { CallPlan } from "./call-plan.js";
import type { ChannelPool } from "./channel-pool.js";
import { createLeasedFiles, type ChannelSource } from "./channel-source.js";
import { createOutputCollector } from "./collector.js";
import { checkEnvironment } from "./environment.js";
import { encodedBytes } from "./render-output.js";
import type { ResolveSecrets } from "./secrets.js";

export interface CallDeps {
  readonly pool: ChannelPool;
  readonly artifacts: ArtifactStore;
  readonly secrets: ResolveSecrets;
  readonly tools: Tools;
}

/** How far a running command is; `tail` is the last text of the stream that spoke last. */
export interface LiveOutput {
  readonly stdout: number;
  readonly stderr: number;
  readonly tail: string;
}

export interface RunOptions {
  readonly deps: CallDeps;
  readonly source: ChannelSource;
  /** Ends the following, never the command; its reason is thrown. */
  readonly signal: AbortSignal;
  onClaimed(): void;
  onOutput(live: LiveOutput): void;
}

/** Runs a checked call and makes its ending. Throws `ProviderError`, or the signal's reason. */
export async function runPlan(
  plan: CallPlan,
  dispatch: CallDispatch,
  options: RunOptions,
): Promise<CallEnding> {
  const startedAtMs = Date.now();
  const { artifacts } = options.deps;
  let claimed = false;
  const once: RunOptions = {
    ...options,
    onClaimed() {
      if (!claimed) options.onClaimed();
      claimed = true;
    },
  };
  const ending = await plan.tool.run({
    callId: dispatch.call.callId,
    requestHash: plan.requestHash,
    files: createLeasedFiles(options.source),
    artifacts,
    workspace: dispatch.workspace,
    signal: options.signal,
    runCommand: (command) => runCommand(command, dispatch, once),
    onClaimed: () => {
      once.onClaimed();
    },
  });
  const resultRef = await storeResult(ending.result, artifacts);
  return {
    startedAtMs,
    endedAtMs: Date.now(),
    ...ending,
    ...(resultRef === undefined ? {} : { resultRef }),
  };
}

async function runCommand(
  command: Command,
  dispatch: CallDispatch,
  options: RunOptions,
): Promise<CommandEnd> {
  const { deps, source, signal } = options;
  const env = { ...dispatch.env, ...(await deps.secrets(dispatch.secrets)), ...command.env };
  checkEnvironment(env);
  const collector = createOutputCollector(deps);
  try {
    const end = await runToEnd({
      openChannel: () => source.open(),
      request: {
        callId: dispatch.call.callId,
        script: command.script,
        cwd: command.cwd,
        env,
        timeoutMs: smallest(dispatch.call.timeoutMs, command.timeoutMs),
        outputLimitBytes: dispatch.outputBytes,
      },
      signal,
      onClaimed: () => {
        options.onClaimed();
      },
      async onOutput(stream, bytes) {
        await collector.add(stream, bytes);
        options.onOutput(collector.live());
      },
    });
    return { ...end, ...(await collector.finish()) };
  } finally {
    await collector.abandon();
  }
}

function smallest(...timeoutsMs: (number | null | undefined)[]): number {
  const given = timeoutsMs.filter((timeoutMs) => typeof timeoutMs === "number");
  return given.length === 0 ? defaultCallTimeoutMs : Math.min(...given);
}

/** A result that an old answer can't carry inline any more is found by its reference. */
async function storeResult(
  result: Record<string, unknown> | undefined,
  artifacts: ArtifactStore,
): Promise<ArtifactRef | undefined> {
  if (result === undefined) return undefined;
  const sizeBytes = encodedBytes(result);
  if (sizeBytes <= limits.unreferencedResultBytes) return undefined;
  if (sizeBytes > limits.answerBytes) {
    throw new ProviderError(
      "too-large",
      `the result has ${sizeBytes} bytes; an answer holds ${limits.answerBytes}`,
    );
  }
  try {
    const content = Buffer.from(JSON.stringify(result));
    return await artifacts.put(once(content), { mimeType: "application/json" });
  } catch (error) {
    // The answer itself is whole; only its copy for later is missing.
    if (error instanceof ProviderError) return undefined;
    throw error;
  }
}

// eslint-disable-next-line @typescript-eslint/require-await -- the store takes an async iterable
async function* once(content: Uint8Array): AsyncIterable<Uint8Array> {
  yield content;
}
