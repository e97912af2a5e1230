import type { Artifact, Capabilities } from "../../contract/sandbox.js";
import { ProviderError } from "../errors.js";
import type { Provider } from "../provider.js";
import { contentKey } from "../template-key.js";
import { check } from "./check.js";
import { connect } from "./connect.js";
import { CreatesUnderWay } from "./creates-under-way.js";
import type { DockerDeps } from "./deps.js";
import { createDockerCli } from "./docker-cli.js";
import { createGuestSource } from "./guest-binary.js";
import { prepare } from "./prepare.js";
import { remove } from "./remove.js";
import { resume } from "./resume.js";
import { setNetworkPolicy } from "./set-network-policy.js";
import { createSingleFlight } from "./single-flight.js";
import { start } from "./start.js";
import { stop } from "./stop.js";
import { sweep } from "./sweep.js";

export interface DockerProviderOptions {
  /** The CLI: a name on PATH or a path. Any CLI with docker's commands. */
  readonly command: string;
  /** The worker's environment; only an allowlist of it reaches the CLI, nothing of it a sandbox. */
  readonly environment: Readonly<Record<string, string>>;
  /** Names this installation on a shared engine. Never empty. */
  readonly owner: string;
  readonly hostId: string;
  /** Directory of the built guests (`holdfast-guest-linux-<arch>`). */
  readonly guestDirectory: string;
}

const capabilities: Capabilities = {
  isolation: "container",
  networks: ["deny-all", "allow-all"],
  networkSwitch: true,
  processes: true,
  survivesWorker: true,
  snapshots: false,
  dockerfile: false,
  searchEngine: "ripgrep",
  notes: [
    "Containers share the host's kernel.",
    "With allow-all, services of the host that listen on all addresses are reachable.",
  ],
};

/** Sessions in Docker containers, through the docker CLI. */
export function createDockerProvider(options: DockerProviderOptions): Provider {
  if (options.owner === "") {
    throw new ProviderError("invalid-request", "the docker provider needs an owner", {
      hint: "Set HOLDFAST_OWNER: without it resources of other installations could be taken for ours.",
    });
  }
  const cli = createDockerCli(options);
  const deps: DockerDeps = {
    cli,
    owner: options.owner,
    hostId: options.hostId,
    guest: createGuestSource(cli, options.guestDirectory),
    creates: new CreatesUnderWay(),
  };
  const once = createSingleFlight<Artifact>();
  return {
    name: "docker",
    capabilities: () => Promise.resolve(capabilities),
    check,
    prepare: (spec, context) =>
      once(contentKey([spec.template, spec.user, spec.workspace]), {
        signal: context.signal,
        work: () => prepare(deps, spec, context),
      }),
    start: (request, context) => start(deps, request, context),
    resume: (handle, context) => resume(deps, handle, context),
    stop: (handle, stopOptions, context) => stop(deps, handle, stopOptions, context),
    remove: (target, context) => remove(deps, target, context),
    connect: (handle, context) => connect(deps, handle, context),
    setNetworkPolicy: (handle, policy, context) => setNetworkPolicy(deps, handle, policy, context),
    sweep: (query, context) => sweep(deps, query, context),
    // Channels belong to who opened them; the provider itself holds no process.
    close: () => Promise.resolve(),
  };
}
