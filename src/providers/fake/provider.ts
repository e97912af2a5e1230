import { setImmediate } from "node:timers/promises";
import type { Artifact, Capabilities, Handle, SessionIdentity } from "../../contract/sandbox.js";
import type { NetworkPolicy, ResolvedSpec } from "../../contract/spec.js";
import { abortable } from "../../exec/abortable.js";
import { ProviderError } from "../errors.js";
import { generationKey } from "../generation-key.js";
import type { Provider, SandboxResource, StartRequest } from "../provider.js";
import { contentKey, templateKey } from "../template-key.js";
import { FakeChannel } from "./channel.js";
import { FakeSandbox } from "./sandbox.js";
import { jsonScript, type FakeScript } from "./script.js";
import { StepRunner, stepsFromEnv, type Steps } from "./steps.js";

export interface FakeOptions {
  readonly hostId: string;
  /** What the steps do beside their work; `FAKE_*` variables of a template go before it. */
  readonly steps?: Steps;
  /** What commands do. Default: `jsonScript`. */
  readonly script?: FakeScript;
}

/** How much was done so far. */
export interface FakeCounts {
  readonly prepared: number;
  readonly created: number;
  readonly removed: number;
  readonly commands: number;
}

export interface FakeProvider extends Provider {
  readonly counts: FakeCounts;
  /** Sandboxes that exist now. */
  readonly sandboxes: readonly string[];
  /** The policy of a session's newest sandbox. */
  networkOf(session: SessionIdentity): NetworkPolicy | undefined;
  /** Takes a session's sandboxes away, as somebody at the engine would. */
  vanish(session: SessionIdentity): void;
}

const capabilities: Capabilities = {
  isolation: "none",
  networks: ["deny-all", "allow-all"],
  networkSwitch: true,
  processes: false,
  survivesWorker: false,
  snapshots: false,
  dockerfile: false,
  searchEngine: "built-in",
  notes: [
    "fake: nothing runs; a command says itself what it prints and how it ends",
    "survives-worker: everything is in the memory of one process and goes with it",
  ],
};

/** A provider for tests and dry runs: in memory, idempotent like a real one, slow and failing as it is told. */
export function createFakeProvider(options: FakeOptions): FakeProvider {
  const { hostId, script = jsonScript } = options;
  const steps = new StepRunner(options.steps ?? {});
  const templates = new Set<string>();
  const sandboxes = new Map<string, FakeSandbox>();
  const removals = new Map<string, number>();
  const counts = { prepared: 0, created: 0, removed: 0, commands: 0 };

  function land(request: StartRequest, key: string): FakeSandbox {
    const { session, generation, spec } = request;
    const id = sandboxId(session, generation);
    const wanted = generationKey({ session, generation, templateKey: key, spec });
    const existing = sandboxes.get(id);
    if (existing !== undefined) {
      if (existing.generation.key === wanted) return existing;
      throw new ProviderError("conflict", `sandbox ${id} was started with another template or environment`);
    }
    const sandbox = new FakeSandbox({
      id,
      session,
      generation: { number: generation, key: wanted },
      templateKey: key,
      steps: stepsFromEnv(spec.template.env),
      network: spec.network,
      workspace: spec.workspace,
    });
    sandboxes.set(id, sandbox);
    counts.created++;
    if (!isRemoved(request)) return sandbox;
    drop(sandbox);
    throw removedBefore(request);
  }

  function drop(sandbox: FakeSandbox): void {
    if (!sandboxes.delete(sandbox.id)) return;
    sandbox.halt("removed");
    counts.removed++;
  }

  const isRemoved = ({ session, generation }: StartRequest): boolean =>
    (removals.get(sessionKey(session)) ?? 0) >= generation;

  function find(handle: Handle): FakeSandbox {
    const sandbox = sandboxes.get(handle.sandboxId);
    if (sandbox === undefined) {
      throw new ProviderError("session-lost", `the sandbox of session ${handle.session.sessionId} is gone`);
    }
    if (sandbox.generation.key !== handle.generation.key) {
      throw new ProviderError("conflict", `sandbox ${sandbox.id} belongs to another generation`);
    }
    return sandbox;
  }

  return {
    name: "fake",
    counts,
    get sandboxes() {
      return [...sandboxes.keys()];
    },
    networkOf: (session) =>
      [...sandboxes.values()].filter((sandbox) => sessionKey(sandbox.session) === sessionKey(session)).at(-1)
        ?.network,
    vanish(session) {
      for (const sandbox of [...sandboxes.values()]) {
        if (sessionKey(sandbox.session) !== sessionKey(session)) continue;
        for (const call of sandbox.calls.values()) call.lose("the sandbox is gone");
        drop(sandbox);
      }
    },
    capabilities: () => Promise.resolve(capabilities),
    check,
    async prepare(spec, context): Promise<Artifact> {
      check(spec);
      const key = templateKey({ provider: "fake", spec });
      if (!templates.has(key)) {
        await steps.before("prepare", key, stepsFromEnv(spec.template.env), context.signal);
        // Somebody else may have been faster.
        if (!templates.has(key)) counts.prepared++;
        templates.add(key);
      }
      return { version: 1, provider: "fake", hostId, templateKey: key, data: {} };
    },
    async start(request, context): Promise<Handle> {
      check(request.spec);
      const key = templateKey({ provider: "fake", spec: request.spec });
      if (isRemoved(request)) throw removedBefore(request);
      if (!templates.has(key)) {
        throw new ProviderError("template-not-provisioned", `template ${key} is not on host ${hostId}`);
      }
      const own = stepsFromEnv(request.spec.template.env);
      const id = sandboxId(request.session, request.generation);
      if (steps.behaviour("start", own).landsLate !== true) {
        if (!sandboxes.has(id)) await steps.before("start", id, own, context.signal);
        // A real one is never done at once: an abort that comes right after the call is met.
        await setImmediate();
        context.signal.throwIfAborted();
        return land(request, key).handle(hostId);
      }
      const landing = steps.before("start", id, own).then(() => land(request, key));
      // The landing goes on when the one who asked is gone; its failure is then nobody's.
      return (await abortable(landing, context.signal)).handle(hostId);
    },
    async resume(handle, { signal }) {
      const sandbox = find(handle);
      await steps.before("resume", sandbox.id, sandbox.steps, signal);
      sandbox.resume();
      return sandbox.handle(hostId);
    },
    async stop(handle, _options, { signal }) {
      const sandbox = sandboxes.get(handle.sandboxId);
      if (sandbox === undefined) return;
      await steps.before("stop", sandbox.id, sandbox.steps, signal);
      if (sandbox.state === "running") sandbox.halt("stopped");
    },
    async remove({ session, upToGeneration }, { signal }) {
      const key = sessionKey(session);
      // First: what a start makes from here on is removed as it lands.
      removals.set(key, Math.max(removals.get(key) ?? 0, upToGeneration));
      for (const sandbox of [...sandboxes.values()]) {
        if (sessionKey(sandbox.session) !== key || sandbox.generation.number > upToGeneration) continue;
        await steps.before("remove", sandbox.id, sandbox.steps, signal);
        drop(sandbox);
      }
    },
    async connect(handle, { signal }) {
      const sandbox = find(handle);
      await steps.before("connect", sandbox.id, sandbox.steps, signal);
      sandbox.requireRunning();
      return new FakeChannel(sandbox, script, () => counts.commands++);
    },
    setNetworkPolicy(handle, policy) {
      return Promise.resolve().then(() => {
        const sandbox = find(handle);
        sandbox.network = policy;
        return sandbox.handle(hostId);
      });
    },
    sweep(query, context) {
      const removed: SandboxResource[] = [];
      const kept: (SandboxResource & { reason: string })[] = [];
      for (const sandbox of [...sandboxes.values()]) {
        const resource = resourceOf(sandbox);
        if (!query.isStale(resource)) kept.push({ ...resource, reason: "in use" });
        else if (query.dryRun) kept.push({ ...resource, reason: "dry run" });
        else {
          context.onProgress(`removing ${sandbox.id}`);
          drop(sandbox);
          removed.push(resource);
        }
      }
      return Promise.resolve({ lookedAt: removed.length + kept.length, removed, kept, failed: [] });
    },
    close() {
      for (const sandbox of sandboxes.values()) {
        for (const call of sandbox.calls.values()) call.lose("the worker that ran it shut down");
      }
      return Promise.resolve();
    },
  };
}

function check(spec: ResolvedSpec): void {
  stepsFromEnv(spec.template.env);
  if (typeof spec.network === "string") return;
  throw new ProviderError("unsupported", "the fake provider knows deny-all and allow-all only", {
    field: "spec.network",
    hint: "Use deny-all or allow-all.",
  });
}

const sessionKey = ({ sessionId, runId }: SessionIdentity): string => contentKey({ sessionId, runId });

const sandboxId = ({ sessionId, runId }: SessionIdentity, generation: number): string =>
  contentKey({ sessionId, runId, generation });

function removedBefore({ session, generation }: StartRequest): ProviderError {
  return new ProviderError(
    "session-lost",
    `generation ${generation} of session ${session.sessionId} was removed`,
  );
}

function resourceOf(sandbox: FakeSandbox): SandboxResource {
  const { id, session, generation, createdAtMs } = sandbox;
  return { kind: "session", id, session, generation: generation.number, createdAtMs };
}
