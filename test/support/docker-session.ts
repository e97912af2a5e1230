import type { Artifact, Handle } from "../../src/contract/sandbox.js";
import type { ResolvedSpec } from "../../src/contract/spec.js";
import type { Channel } from "../../src/providers/channel.js";
import type { Provider } from "../../src/providers/provider.js";
import {
  context,
  createInstallation,
  dockerSpec,
  newSession,
  type TestInstallation,
} from "./docker-engine.js";

/** Sandboxes of one suite: one installation, one template, and helpers that keep tests short. */
export interface DockerBench {
  readonly installation: TestInstallation;
  readonly spec: ResolvedSpec;
  provider(): Provider;
  artifact(): Artifact;
  setUp(): Promise<void>;
  start(limits?: Partial<ResolvedSpec["limits"]>): Promise<Handle>;
  /** Opens a channel that `cleanUp` closes. */
  open(handle: Handle): Promise<Channel>;
  /** Opens a channel for as long as `work` takes. */
  use<T>(handle: Handle, work: (channel: Channel) => Promise<T>): Promise<T>;
  remove(handle: Handle): Promise<void>;
  cleanUp(): Promise<void>;
}

export function createDockerBench(): DockerBench {
  const installation = createInstallation();
  const spec = dockerSpec();
  const opened: Channel[] = [];
  let prepared: { provider: Provider; artifact: Artifact } | undefined;
  const get = (): NonNullable<typeof prepared> => {
    if (prepared === undefined) throw new Error("setUp was not called");
    return prepared;
  };
  return {
    installation,
    spec,
    provider: () => get().provider,
    artifact: () => get().artifact,
    async setUp() {
      const provider = installation.provider();
      prepared = { provider, artifact: await provider.prepare(spec, context()) };
    },
    start: (limits = {}) =>
      get().provider.start(
        {
          session: newSession(),
          generation: 1,
          spec: { ...spec, limits: { ...spec.limits, ...limits } },
          artifact: get().artifact,
        },
        context(),
      ),
    async open(handle) {
      const channel = await get().provider.connect(handle, context());
      opened.push(channel);
      return channel;
    },
    async use(handle, work) {
      const channel = await get().provider.connect(handle, context());
      try {
        return await work(channel);
      } finally {
        await channel.close();
      }
    },
    remove: (handle) =>
      get().provider.remove({ session: handle.session, upToGeneration: handle.generation.number }, context()),
    async cleanUp() {
      await Promise.all(opened.map((channel) => channel.close()));
      await installation.cleanUp();
    },
  };
}
