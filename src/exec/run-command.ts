import type { CallDispatch } from "../contract/activities.js";
import type { Command, CommandEnd } from "../tools/tool.js";
import { runToEnd } from "./attach.js";
import type { RunOptions } from "./call-deps.js";
import type { ChannelSource } from "./channel-source.js";
import { createOutputCollector } from "./collector.js";
import { checkEnvironment } from "./environment.js";
import { smallestTimeoutMs } from "./smallest-timeout.js";

/** Runs the command of a call, or attaches to it, and collects its output. */
export async function runCommand(
  command: Command,
  dispatch: CallDispatch,
  options: RunOptions,
): Promise<CommandEnd> {
  const { deps, source, signal } = options;
  const env = { ...dispatch.env, ...(await secretsOf(dispatch, options)), ...command.env };
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
        timeoutMs: smallestTimeoutMs(dispatch.call.timeoutMs, command.timeoutMs),
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

async function secretsOf(
  { call, secrets }: CallDispatch,
  { deps, source }: RunOptions,
): Promise<Record<string, string>> {
  try {
    return await deps.secrets(secrets);
  } catch (error) {
    if (!(await isStarted(call.callId, source))) throw error;
    // An earlier attempt gave the command its secrets; now only its answer is missing, and needs none.
    return {};
  }
}

async function isStarted(callId: string, source: ChannelSource): Promise<boolean> {
  const lease = await source.open();
  try {
    const known = await lease.channel.calls();
    return known.some((entry) => entry.callId === callId && entry.state !== "claimed");
  } finally {
    lease.release();
  }
}
