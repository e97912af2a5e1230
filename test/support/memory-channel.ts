import type {
  CallEnd,
  CallEntry,
  Channel,
  DirectoryEntry,
  FileStat,
  Files,
  FollowOptions,
  OutputStream,
  RunRequest,
  WriteRecord,
} from "../../src/providers/channel.js";
import { ProviderError } from "../../src/providers/errors.js";
import type { Handle } from "../../src/contract/sandbox.js";

export interface ProgramIo {
  readonly write: (stream: OutputStream, bytes: Uint8Array | string) => void;
  readonly request: RunRequest;
}
/** What a script does; its outcome defaults to exit code 0. */
export type Program = (io: ProgramIo) => Promise<CallEnd["outcome"] | undefined>;

interface MemoryCall {
  readonly request: RunRequest;
  readonly output: Record<OutputStream, Buffer[]>;
  readonly startedAtMs: number;
  end?: CallEnd;
  acknowledged: boolean;
}

/** A sandbox in this process, with durable claims: its channels can break, stall and split as a test asks. */
export class MemorySandbox {
  readonly programs = new Map<string, Program>();
  readonly files = new Map<string, { bytes: Buffer; mode: number }>();
  readonly others = new Map<string, FileStat["type"]>();
  /** Raw names of a directory's entries, where `files` can't hold them. */
  readonly rawEntries = new Map<string, DirectoryEntry[]>();
  readonly calls = new Map<string, MemoryCall>();
  readonly records = new Map<string, WriteRecord & { requestHash: string }>();
  readonly channels: MemoryChannel[] = [];
  readonly acknowledged: string[] = [];
  starts = 0;
  /** Largest piece that a follow delivers. */
  pieceBytes = 64 * 1024;
  /** Called before each delivered piece with what was delivered so far. */
  onPiece: ((channel: MemoryChannel, deliveredBytes: number) => void | Promise<void>) | undefined;
  /** What the next connects throw. */
  readonly connectErrors: Error[] = [];
  /** A follow that was told everything never returns. */
  withholdEnd = false;
  /** Held before anything is claimed or read. */
  gate: Promise<void> | undefined;

  readonly connect = async (): Promise<MemoryChannel> => {
    await Promise.resolve();
    const error = this.connectErrors.shift();
    if (error !== undefined) throw error;
    const channel = new MemoryChannel(this);
    this.channels.push(channel);
    return channel;
  };

  breakAll(): void {
    for (const channel of this.channels) channel.break();
  }
}

export class MemoryChannel implements Channel {
  readonly epoch = "epoch-1";
  closed = false;
  closes = 0;
  private readonly broken = new AbortController();

  constructor(private readonly sandbox: MemorySandbox) {}

  break(): void {
    this.closed = true;
    this.broken.abort();
  }

  private async enter(): Promise<void> {
    await this.unlessBroken(this.sandbox.gate ?? Promise.resolve());
  }

  private unlessBroken<T>(promise: Promise<T>): Promise<T> {
    const signal = this.broken.signal;
    return new Promise<T>((resolve, reject) => {
      const fail = () => {
        reject(new ProviderError("unavailable", "the channel broke"));
      };
      if (signal.aborted) fail();
      signal.addEventListener("abort", fail, { once: true });
      void promise.then(resolve, reject).finally(() => {
        signal.removeEventListener("abort", fail);
      });
    });
  }

  async run(request: RunRequest): Promise<{ state: "started" | "attached" }> {
    await this.enter();
    const known = this.sandbox.calls.get(request.callId);
    if (known !== undefined) {
      if (known.request.script !== request.script) throw new ProviderError("conflict", "another script");
      return { state: "attached" };
    }
    const program = this.sandbox.programs.get(request.script);
    if (program === undefined) throw new ProviderError("cannot-start", `no program ${request.script}`);
    this.sandbox.starts += 1;
    const call: MemoryCall = {
      request,
      output: { stdout: [], stderr: [] },
      startedAtMs: Date.now(),
      acknowledged: false,
    };
    this.sandbox.calls.set(request.callId, call);
    void this.execute(call, program);
    return { state: "started" };
  }

  private async execute(call: MemoryCall, program: Program): Promise<void> {
    const write = (stream: OutputStream, bytes: Uint8Array | string) =>
      void call.output[stream].push(Buffer.from(bytes as string));
    const outcome = (await program({ write, request: call.request })) ?? { kind: "exited", exitCode: 0 };
    call.end = {
      outcome,
      totals: { stdout: size(call.output.stdout), stderr: size(call.output.stderr) },
      startedAtMs: call.startedAtMs,
      endedAtMs: Date.now(),
      background: [],
    };
  }

  async follow(callId: string, options: FollowOptions): Promise<CallEnd> {
    const call = this.sandbox.calls.get(callId);
    if (call === undefined) throw new ProviderError("not-found", `no call ${callId}`);
    const delivered = { ...options.from };
    for (;;) {
      const { end } = call;
      for (const stream of ["stdout", "stderr"] as const)
        await this.deliver(call, stream, delivered, options);
      if (end !== undefined && !this.sandbox.withholdEnd) return end;
      await this.unlessBroken(new Promise((resolve) => setTimeout(resolve, 2)));
      options.signal.throwIfAborted();
    }
  }

  private async deliver(
    call: MemoryCall,
    stream: OutputStream,
    delivered: Record<OutputStream, number>,
    options: FollowOptions,
  ): Promise<void> {
    const bytes = Buffer.concat(call.output[stream]);
    while (delivered[stream] < bytes.byteLength) {
      options.signal.throwIfAborted();
      await this.unlessBroken(
        Promise.resolve(this.sandbox.onPiece?.(this, delivered.stdout + delivered.stderr)),
      );
      await this.unlessBroken(Promise.resolve());
      const offset = delivered[stream];
      const piece = bytes.subarray(offset, offset + this.sandbox.pieceBytes);
      await options.onOutput(stream, piece, offset);
      delivered[stream] += piece.byteLength;
    }
  }

  async kill(): Promise<void> {
    await this.enter();
  }

  async acknowledge(callIds: readonly string[]): Promise<void> {
    await this.enter();
    this.sandbox.acknowledged.push(...callIds);
  }

  async calls(): Promise<CallEntry[]> {
    await this.enter();
    return [...this.sandbox.calls].map(([callId, { end }]) => ({ callId, state: end ? "ended" : "running" }));
  }

  get files(): Files {
    const { sandbox } = this;
    const enter = () => this.enter();
    const stat = (path: string): FileStat | undefined => {
      const file = sandbox.files.get(path);
      const type = file === undefined ? sandbox.others.get(path) : "file";
      if (type === undefined) return undefined;
      return { type, sizeBytes: file?.bytes.byteLength ?? 0, mode: file?.mode ?? 0o755, modifiedAtMs: 0 };
    };
    return {
      async read(path, { offset, lengthBytes }) {
        await enter();
        const found = stat(path);
        if (found === undefined) throw new ProviderError("not-found", `${path} does not exist`);
        const file = sandbox.files.get(path);
        if (file === undefined) throw new ProviderError("not-a-file", `${path} is a ${found.type}`);
        return { bytes: file.bytes.subarray(offset, offset + lengthBytes), stat: found };
      },
      async write(path, content, options) {
        await enter();
        const chunks: Uint8Array[] = [];
        for await (const chunk of content) chunks.push(chunk);
        const earlier = sandbox.files.get(path);
        const bytes = Buffer.concat(chunks);
        sandbox.files.set(path, { bytes, mode: options.mode ?? earlier?.mode ?? 0o644 });
        const done = { created: earlier === undefined, sizeBytes: bytes.byteLength };
        if (options.record !== undefined) {
          const { callId, requestHash, result } = options.record;
          sandbox.records.set(callId, { ...done, requestHash, result });
        }
        return done;
      },
      async recorded(callId, requestHash) {
        await enter();
        const record = sandbox.records.get(callId);
        if (record !== undefined && record.requestHash !== requestHash) {
          throw new ProviderError("conflict", `call ${callId} was another request`);
        }
        return record;
      },
      async stat(path) {
        await enter();
        return stat(path);
      },
      async list(path, { maxEntries }) {
        await enter();
        const inside = [...sandbox.files]
          .filter(([name]) => name.startsWith(`${path}/`) && !name.slice(path.length + 1).includes("/"))
          .map(([name, { bytes }]): DirectoryEntry => ({
            name: Buffer.from(name.slice(path.length + 1)),
            type: "file",
            sizeBytes: bytes.byteLength,
          }));
        const entries = [...inside, ...(sandbox.rawEntries.get(path) ?? [])];
        return { entries: entries.slice(0, maxEntries), truncated: entries.length > maxEntries };
      },
      async remove(path) {
        await enter();
        sandbox.files.delete(path);
      },
    };
  }

  async close(): Promise<void> {
    this.closes += 1;
    this.break();
    await Promise.resolve();
  }
}

const size = (chunks: readonly Buffer[]): number => chunks.reduce((sum, chunk) => sum + chunk.byteLength, 0);

/** A handle of a sandbox on host `host-1`. */
export function memoryHandle(sandboxId = "sandbox-1", changes: Partial<Handle> = {}): Handle {
  return {
    version: 1,
    provider: "fake",
    hostId: "host-1",
    sandboxId,
    session: { sessionId: "s1", runId: "r1" },
    generation: { number: 1, key: "key-1" },
    templateKey: "0".repeat(24),
    data: {},
    ...changes,
  };
}
