import { Worker } from "node:worker_threads";
import { ProviderError } from "../errors.js";
import type { ThreadMessage, ThreadRequest, WindDown } from "./thread-protocol.js";

/** How a script's thread came to an end, however it did. */
export type ThreadEnding =
  | Exclude<ThreadMessage, { type: "ready" }>
  | { readonly type: "terminated" }
  | { readonly type: "out-of-memory" };

export interface ThreadLease {
  run(request: ThreadRequest): Promise<ThreadEnding>;
  /** Ends the script at its next chance. Nothing happens when it never gets one. */
  windDown(): void;
  /** Ends the thread now; a running script ends as `terminated`. */
  terminate(): void;
}

export interface ThreadPoolOptions {
  readonly entry: URL;
  /** Threads of this process, all sessions together: each costs some 40 MB. */
  readonly maxThreads: number;
  readonly idleMs: number;
}

/** Worker threads, one script at a time in each. A thread serves one session only, and goes when it is idle. */
export interface ThreadPool {
  /** Waits for a free place. `cancelled` ends the waiting: undefined then. */
  lease(key: string, memoryBytes: number, cancelled: Promise<unknown>): Promise<ThreadLease | undefined>;
  /** Starts a thread ahead of its first use, when there is room. */
  warm(key: string, memoryBytes: number): void;
  /** Ends the idle threads of a session. */
  drop(key: string): void;
  close(): Promise<void>;
}

export function createThreadPool(options: ThreadPoolOptions): ThreadPool {
  const threads = new Set<Thread>();
  const waiting = new Set<() => void>();
  let closed = false;

  const freed = (): void => {
    for (const wake of waiting) wake();
  };
  const removed = (thread: Thread): void => {
    threads.delete(thread);
    freed();
  };

  const take = (key: string, memoryBytes: number): Thread | undefined => {
    const idle = [...threads].filter((thread) => !thread.busy);
    const own = idle.find((thread) => thread.key === key);
    if (own !== undefined) return own.occupy();
    if (threads.size >= options.maxThreads) {
      const [victim] = idle;
      if (victim === undefined) return undefined;
      victim.terminate();
      threads.delete(victim);
    }
    return create(key, memoryBytes).occupy();
  };

  const create = (key: string, memoryBytes: number): Thread => {
    const thread = new Thread({ key, memoryBytes, ...options, onIdle: freed, onExit: removed });
    threads.add(thread);
    return thread;
  };

  return {
    async lease(key, memoryBytes, cancelled) {
      for (;;) {
        if (closed) throw new ProviderError("unavailable", "this worker is shutting down");
        const thread = take(key, memoryBytes);
        if (thread !== undefined) return thread;
        let wake = (): void => undefined;
        const free = new Promise<"freed">((resolve) => {
          wake = () => {
            resolve("freed");
          };
        });
        waiting.add(wake);
        const first = await Promise.race([free, cancelled]);
        waiting.delete(wake);
        if (first !== "freed") return undefined;
      }
    },
    warm(key, memoryBytes) {
      const has = [...threads].some((thread) => thread.key === key);
      if (!closed && !has && threads.size < options.maxThreads) create(key, memoryBytes).rest();
    },
    drop(key) {
      for (const thread of threads) if (thread.key === key && !thread.busy) thread.terminate();
    },
    async close() {
      closed = true;
      freed();
      await Promise.all([...threads].map((thread) => thread.end()));
    },
  };
}

interface ThreadOptions {
  readonly key: string;
  readonly memoryBytes: number;
  readonly entry: URL;
  readonly idleMs: number;
  onIdle(): void;
  onExit(thread: Thread): void;
}

class Thread implements ThreadLease {
  readonly key: string;
  busy = false;
  readonly #worker: Worker;
  readonly #options: ThreadOptions;
  #ended: ((ending: ThreadEnding) => void) | undefined;
  /** How it died, when it did: a script that comes too late gets the same answer. */
  #death: ThreadEnding | undefined;
  #idleTimer: NodeJS.Timeout | undefined;

  constructor(options: ThreadOptions) {
    this.key = options.key;
    this.#options = options;
    this.#worker = new Worker(options.entry, {
      // Neither the worker's variables nor its loader options are any business of a session.
      env: {},
      execArgv: [],
      argv: [],
      stdin: false,
      stdout: true,
      stderr: true,
      resourceLimits: { maxOldGenerationSizeMb: Math.max(64, Math.floor(options.memoryBytes / 1024 ** 2)) },
    });
    // Nothing is meant to be printed there; unread it would pile up.
    this.#worker.stdout.resume();
    this.#worker.stderr.resume();
    this.#worker.on("message", (message: ThreadMessage) => {
      if (message.type !== "ready") this.#settle(message);
    });
    this.#worker.on("error", (error: Error & { code?: string }) => {
      const oom = error.code === "ERR_WORKER_OUT_OF_MEMORY";
      this.#die(oom ? { type: "out-of-memory" } : { type: "failed", message: error.message });
    });
    this.#worker.on("exit", () => {
      this.#die({ type: "terminated" });
    });
  }

  occupy(): this {
    this.busy = true;
    clearTimeout(this.#idleTimer);
    this.#worker.ref();
    return this;
  }

  /** An idle thread must not keep the process alive; nor must it stay for long, it holds memory. */
  rest(): void {
    this.busy = false;
    this.#worker.unref();
    this.#idleTimer = setTimeout(() => {
      this.terminate();
    }, this.#options.idleMs).unref();
  }

  run(request: ThreadRequest): Promise<ThreadEnding> {
    if (this.#death !== undefined) return Promise.resolve(this.#death);
    return new Promise((resolve) => {
      this.#ended = resolve;
      this.#worker.postMessage(request);
    });
  }

  windDown(): void {
    this.#worker.postMessage({ type: "wind-down" } satisfies WindDown);
  }

  terminate(): void {
    void this.end();
  }

  async end(): Promise<void> {
    this.#die({ type: "terminated" });
    await this.#worker.terminate();
  }

  #settle(ending: ThreadEnding): void {
    const ended = this.#ended;
    this.#ended = undefined;
    this.rest();
    ended?.(ending);
    this.#options.onIdle();
  }

  #die(death: ThreadEnding): void {
    if (this.#death !== undefined) return;
    this.#death = death;
    clearTimeout(this.#idleTimer);
    const ended = this.#ended;
    this.#ended = undefined;
    ended?.(death);
    this.#options.onExit(this);
  }
}
