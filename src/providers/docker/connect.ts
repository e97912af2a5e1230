import type { Handle } from "../../contract/sandbox.js";
import { createGuestChannel, type GuestChannel } from "../../exec/guest-channel.js";
import { openGuestConnection } from "../../exec/guest-connection.js";
import type { GuestTransport } from "../../exec/guest-transport.js";
import { ProviderError } from "../errors.js";
import type { OperationContext } from "../provider.js";
import { cliFailure, spawnFailure } from "./cli-failure.js";
import type { DockerDeps } from "./deps.js";
import { engineTimeouts } from "./engine-timeouts.js";
import { openHandle, type DockerHandleData } from "./documents.js";
import { inspectContainer } from "./inspect-container.js";
import { sessionLost } from "./resume.js";
import { guestPath, outputsPath, supervisorPids, uploadsPath } from "./sandbox-layout.js";

/** An exec takes 70 ms; a machine that boots containers by the dozen takes seconds. */
const helloTimeoutMs = 20_000;
/** How long the client may take to die after its stream ended, before its reason counts as unknown. */
const exitWaitMs = 2_000;

/** Opens a channel into the handle's sandbox. */
export async function connect(
  deps: DockerDeps,
  handle: Handle,
  context: OperationContext,
): Promise<GuestChannel> {
  const data = await openHandle(deps, handle);
  const request = { handle, data, helloTimeoutMs };
  try {
    return await openChannel(deps, request, context);
  } catch (error) {
    if (!(error instanceof ProviderError) || !isOutOfProcesses(error)) throw error;
    return withMorePids(deps, handle, context, () => openChannel(deps, request, context));
  }
}

export async function openChannel(
  deps: DockerDeps,
  { handle, data, helloTimeoutMs }: { handle: Handle; data: DockerHandleData; helloTimeoutMs: number },
  context: OperationContext,
): Promise<GuestChannel> {
  const args = ["exec", "--interactive", "--user", "0", handle.sandboxId, guestPath, "connect"];
  const transport = await deps.cli.open(args);
  try {
    const connection = await openGuestConnection({ transport, helloTimeoutMs, signal: context.signal });
    return createGuestChannel(connection, {
      workspace: data.workspace,
      uploads: uploadsPath,
      outputs: outputsPath,
    });
  } catch (error) {
    throw await explain(error, { transport, args, handle });
  }
}

/** The client's exit says more than "the stream ended": the container is gone, stopped, paused, or no engine. */
async function explain(
  error: unknown,
  { transport, args, handle }: { transport: GuestTransport; args: readonly string[]; handle: Handle },
): Promise<unknown> {
  const exit = await Promise.race([
    transport.exited,
    new Promise<undefined>((resolve) => setTimeout(resolve, exitWaitMs, undefined)),
  ]);
  if (exit === undefined) return error;
  if (exit.spawnError?.startsWith("E") === true) {
    return spawnFailure("docker", args, { code: exit.spawnError });
  }
  if (exit.exitCode === undefined || exit.stderr.trim() === "") return error;
  if (/no such container/i.test(exit.stderr)) return sessionLost(handle);
  const failure = cliFailure(args, { stdout: "", stderr: exit.stderr, exitCode: exit.exitCode });
  if (failure.code !== "internal") return failure;
  return new ProviderError("unavailable", `no channel into the sandbox: ${failure.message}`, {
    hint: "Connect again. If it goes on, stop and resume the session.",
    cause: error,
  });
}

/**
 * The runtime's own words for it differ by the moment at which it ran out, down to "connection reset by peer"; a
 * loan for nothing costs two short commands.
 */
function isOutOfProcesses({ message }: ProviderError): boolean {
  if (/no such file|executable file not found|permission denied/i.test(message)) return false;
  return /OCI runtime exec failed|resource temporarily unavailable|newosproc|pthread_create|errno[= ]11/i.test(
    message,
  );
}

/**
 * Commands have filled the sandbox with processes up to its limit, and a new channel needs a few to get through
 * and kill them. It gets them for as long as it takes to connect.
 */
async function withMorePids<T>(
  deps: DockerDeps,
  handle: Handle,
  context: OperationContext,
  work: () => Promise<T>,
): Promise<T> {
  const container = await inspectContainer(deps, handle.sandboxId, context.signal);
  if (container === undefined) throw sessionLost(handle);
  const limit = container.pidsLimit ?? 0;
  const setLimit = (pids: number): Promise<string> =>
    deps.cli.require({
      args: ["update", "--pids-limit", String(pids), container.id],
      timeoutMs: engineTimeouts.readMs,
    });
  if (limit <= 0) return work();
  await setLimit(limit + supervisorPids);
  try {
    return await work();
  } finally {
    await setLimit(limit);
  }
}
