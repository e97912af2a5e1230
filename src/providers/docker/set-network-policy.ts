import type { Handle } from "../../contract/sandbox.js";
import type { NetworkPolicy } from "../../contract/spec.js";
import { ProviderError } from "../errors.js";
import type { OperationContext } from "../provider.js";
import { cliFailure } from "./cli-failure.js";
import type { DockerDeps } from "./deps.js";
import { engineTimeouts } from "./engine-timeouts.js";
import { openHandle } from "./documents.js";
import { inspectContainer } from "./inspect-container.js";
import { sessionLost } from "./resume.js";

/**
 * Switches a container between no network and the engine's bridge. It leaves what it is on before it joins the
 * other: the engine demands that for "none", and an interruption in between leaves no network, which is safe.
 */
export async function setNetworkPolicy(
  deps: DockerDeps,
  handle: Handle,
  policy: NetworkPolicy,
  context: OperationContext,
): Promise<Handle> {
  if (typeof policy !== "string") {
    throw new ProviderError("unsupported", "the docker provider has no network lists yet", {
      field: "network",
      hint: 'Use "deny-all" or "allow-all".',
    });
  }
  await openHandle(deps, handle);
  const wanted = policy === "allow-all" ? "bridge" : "none";
  const networks = await readNetworks(deps, handle, context);
  for (const network of networks.filter((name) => name !== wanted)) {
    await change(deps, ["network", "disconnect", network, handle.sandboxId], /is not connected/i);
  }
  if (!networks.includes(wanted)) {
    await change(deps, ["network", "connect", wanted, handle.sandboxId], /already exists in network/i);
  }
  const now = await readNetworks(deps, handle, context);
  if (now.length !== 1 || now[0] !== wanted) {
    throw new ProviderError("unavailable", `the network could not be switched to ${policy}`, {
      hint: `The container is on: ${now.join(", ") || "no network"}. Try again.`,
    });
  }
  return handle;
}

async function readNetworks(
  deps: DockerDeps,
  handle: Handle,
  context: OperationContext,
): Promise<readonly string[]> {
  const container = await inspectContainer(deps, handle.sandboxId, context.signal);
  if (container === undefined) throw sessionLost(handle);
  return container.networks;
}

async function change(deps: DockerDeps, args: readonly string[], isFine: RegExp): Promise<void> {
  const result = await deps.cli.run({ args, timeoutMs: engineTimeouts.networkMs });
  if (result.exitCode !== 0 && !isFine.test(result.stderr)) throw cliFailure(args, result);
}
