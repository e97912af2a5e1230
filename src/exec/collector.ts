import type { ArtifactStore } from "../artifacts/artifact-store.js";
import { limits } from "../contract/names.js";
import type { ArtifactRef, Text } from "../contract/refs.js";
import type { OutputStream } from "../providers/channel.js";
import { createOutputWindow, windowBytes, type OutputWindow } from "./output-window.js";
import { encodedBytes, renderOutput, type RenderedOutput } from "./render-output.js";
import { createSpill, type Spill } from "./spill.js";
import { cutStart } from "./utf8-cut.js";

/** Of an answer, for all that isn't output: outcome, references, background processes. */
const reservedBytes = 16 * 1024;
const liveTailBytes = 2048;

/** Turns the two streams of a call into what its answer shows, in bounded memory. */
export interface OutputCollector {
  /** Resolves when more can be taken: the store's back-pressure. */
  add(stream: OutputStream, bytes: Uint8Array): Promise<void>;
  /** Cheap: for heartbeats. */
  live(): { stdout: number; stderr: number; tail: string };
  finish(): Promise<{ stdout: Text; stderr: Text }>;
  /** Ends what is on its way into the store; nothing of it stays there. Idempotent. */
  abandon(): Promise<void>;
}

interface StreamState {
  readonly window: OutputWindow;
  spill?: Spill;
}

export function createOutputCollector({ artifacts }: { artifacts: ArtifactStore }): OutputCollector {
  const streams: Record<OutputStream, StreamState> = {
    stdout: { window: createOutputWindow() },
    stderr: { window: createOutputWindow() },
  };
  let latest: OutputStream = "stdout";

  async function fullOutput(state: StreamState, rendered: RenderedOutput): Promise<ArtifactRef | undefined> {
    if (state.spill !== undefined) return state.spill.end();
    if (rendered.exact) return undefined;
    const { head, tail } = state.window.view();
    const spill = createSpill(artifacts);
    await spill.add(Buffer.concat([head, tail]));
    return spill.end();
  }

  async function toText(state: StreamState, rendered: RenderedOutput): Promise<Text> {
    const full = await fullOutput(state, rendered);
    const { text, encoding, omittedBytes } = rendered;
    return {
      text,
      ...(encoding === undefined ? {} : { encoding }),
      totalBytes: state.window.view().totalBytes,
      omittedBytes,
      ...(full === undefined ? {} : { full: { ...full, mimeType: mimeTypeOf(rendered) } }),
    };
  }

  return {
    async add(stream, bytes) {
      latest = stream;
      const state = streams[stream];
      const before = state.window.view();
      if (state.spill === undefined && before.totalBytes + bytes.byteLength > windowBytes) {
        // The last moment at which the window still holds everything.
        state.spill = createSpill(artifacts);
        await state.spill.add(Buffer.concat([before.head, before.tail]));
      }
      state.window.add(bytes);
      await state.spill?.add(bytes);
    },
    live() {
      const { head, tail } = streams[latest].window.view();
      const recent = (tail.byteLength > 0 ? tail : head).subarray(-liveTailBytes);
      return {
        stdout: streams.stdout.window.view().totalBytes,
        stderr: streams.stderr.window.view().totalBytes,
        tail: recent.toString("utf8", cutStart(recent, 0)),
      };
    },
    async finish() {
      const rendered = share(streams, limits.answerBytes - reservedBytes);
      const stdout = await toText(streams.stdout, rendered.stdout);
      const stderr = await toText(streams.stderr, rendered.stderr);
      return { stdout, stderr };
    },
    async abandon() {
      await Promise.all([streams.stdout.spill?.abandon(), streams.stderr.spill?.abandon()]);
    },
  };
}

function mimeTypeOf({ encoding }: RenderedOutput): string {
  return encoding === undefined ? "text/plain" : "application/octet-stream";
}

/** Both streams within one budget: what one doesn't need of its half, the other gets. */
function share(streams: Record<OutputStream, StreamState>, budget: number) {
  const render = (stream: OutputStream, maxBytes: number) =>
    renderOutput(streams[stream].window.view(), maxBytes);
  let stdout = render("stdout", budget);
  let stderr = render("stderr", budget);
  const sizes = { stdout: encodedBytes(stdout.text), stderr: encodedBytes(stderr.text) };
  if (sizes.stdout + sizes.stderr > budget) {
    const half = budget / 2;
    if (sizes.stderr > half) stderr = render("stderr", Math.max(half, budget - sizes.stdout));
    if (sizes.stdout > half) stdout = render("stdout", Math.max(half, budget - sizes.stderr));
  }
  return { stdout, stderr };
}
