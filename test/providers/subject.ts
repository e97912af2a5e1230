import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, it } from "vitest";
import type { Handle, SessionIdentity } from "../../src/contract/sandbox.js";
import { resolveSpec, type ResolvedSpec, type SessionSpec } from "../../src/contract/spec.js";
import type { CallEnd, Channel, OutputStream, RunRequest } from "../../src/providers/channel.js";
import type { OperationContext, Provider } from "../../src/providers/provider.js";

/** How one provider is put under the suite. */
export interface Subject {
  readonly name: string;
  /** A provider of its own state; everything it made is gone after `dispose`. */
  create(): Promise<Stage>;
  /** What every session of this provider needs, an image for example. */
  readonly spec: SessionSpec;
  /** How this provider is told to print and wait. */
  readonly commands: Commands;
  /** Whether commands are bash: without it, the cases that need a shell are skipped. */
  readonly shell: boolean;
  /** Cases that can't pass, by their id, each with the reason that the output shows. */
  readonly skips: Readonly<Record<string, string>>;
}

export interface Stage {
  readonly provider: Provider;
  /** A second provider on the same host and state, as another worker process would have it. */
  another(): Promise<Provider>;
  dispose(): Promise<void>;
}

export interface Commands {
  print(output: { stdout?: string; stderr?: string; exitCode?: number }): string;
  /** Prints at once, then waits. */
  wait(waitMs: number, stdout?: string): string;
}

export const bashCommands: Commands = {
  print: ({ stdout = "", stderr = "", exitCode = 0 }) =>
    `printf %s ${quote(stdout)}; printf %s ${quote(stderr)} >&2; exit ${exitCode}`,
  wait: (waitMs, stdout = "") => `printf %s ${quote(stdout)}; sleep ${waitMs / 1000}`,
};

export const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

export function context(signal: AbortSignal = new AbortController().signal): OperationContext {
  return { signal, onProgress: () => undefined };
}

/** One provider for a group of cases, and short words for what the cases do with it. */
export class Bench {
  readonly subject: Subject;
  #stage: Stage | undefined;
  readonly #sessions: { provider: Provider; session: SessionIdentity; upTo: number }[] = [];

  constructor(subject: Subject) {
    this.subject = subject;
    beforeAll(async () => {
      this.#stage = await subject.create();
    }, 300_000);
    afterAll(async () => {
      for (const { provider, session, upTo } of this.#sessions) {
        await provider.remove({ session, upToGeneration: upTo }, context());
      }
      await this.#stage?.dispose();
    }, 300_000);
  }

  get stage(): Stage {
    if (this.#stage === undefined) throw new Error("the stage is made in beforeAll");
    return this.#stage;
  }

  get provider(): Provider {
    return this.stage.provider;
  }

  spec(changes: Partial<SessionSpec> = {}): ResolvedSpec {
    const { spec } = this.subject;
    return resolveSpec({ ...spec, ...changes, template: { ...spec.template, ...changes.template } });
  }

  identity(): SessionIdentity {
    const session = { sessionId: `conformance-${randomUUID()}`, runId: randomUUID() };
    this.#sessions.push({ provider: this.provider, session, upTo: 3 });
    return session;
  }

  async start(spec = this.spec(), session = this.identity(), generation = 1): Promise<Handle> {
    const artifact = await this.provider.prepare(spec, context());
    return this.provider.start({ session, generation, spec, artifact }, context());
  }

  async open(spec = this.spec()): Promise<{ handle: Handle; channel: Channel }> {
    const handle = await this.start(spec);
    return { handle, channel: await this.provider.connect(handle, context()) };
  }

  /** A case of the suite. `needs` are the ids it is known by; a skip of any of them skips it, by name. */
  case(id: string, name: string, needs: { shell?: boolean }, run: () => Promise<void>): void {
    const reason =
      this.subject.skips[id] ??
      (needs.shell === true && !this.subject.shell ? `${this.subject.name} runs no shell` : undefined);
    if (reason === undefined) it(`${id} ${name}`, run, 120_000);
    else it.skip(`${id} ${name} -- skipped: ${reason}`, run);
  }
}

export function request(script: string, changes: Partial<RunRequest> = {}): RunRequest {
  return {
    callId: randomUUID(),
    script,
    cwd: "/workspace",
    env: {},
    timeoutMs: 60_000,
    outputLimitBytes: 64 * 1024 ** 2,
    ...changes,
  };
}

export interface Ran {
  readonly state: "started" | "attached";
  readonly end: CallEnd;
  readonly stdout: Buffer;
  readonly stderr: Buffer;
}

export async function run(channel: Channel, call: RunRequest | string): Promise<Ran> {
  const wanted = typeof call === "string" ? request(call) : call;
  const { state } = await channel.run(wanted);
  return { state, ...(await follow(channel, wanted.callId)) };
}

export async function follow(
  channel: Channel,
  callId: string,
  from = { stdout: 0, stderr: 0 },
  signal: AbortSignal = new AbortController().signal,
): Promise<Omit<Ran, "state">> {
  const pieces: Record<OutputStream, Uint8Array[]> = { stdout: [], stderr: [] };
  const next = { ...from };
  const end = await channel.follow(callId, {
    from,
    signal,
    onOutput(stream, bytes, offset) {
      if (offset !== next[stream]) throw new Error(`${stream}: ${offset} came, ${next[stream]} was next`);
      next[stream] += bytes.length;
      pieces[stream].push(Uint8Array.from(bytes));
    },
  });
  return { end, stdout: Buffer.concat(pieces.stdout), stderr: Buffer.concat(pieces.stderr) };
}

export async function* bytes(...parts: (string | Uint8Array)[]): AsyncGenerator<Uint8Array> {
  for (const part of parts) {
    await Promise.resolve();
    yield typeof part === "string" ? Buffer.from(part) : part;
  }
}

export async function readText(channel: Channel, path: string): Promise<string> {
  const { bytes: content } = await channel.files.read(path, { offset: 0, lengthBytes: 1024 ** 2 });
  return Buffer.from(content).toString("utf8");
}
