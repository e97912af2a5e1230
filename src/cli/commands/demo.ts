import { HoldfastError } from "../../client/index.js";
import { parse } from "../../contract/parse.js";
import { sessionSpecSchema, type SessionSpec } from "../../contract/spec.js";
import { command } from "../command.js";
import { aliveAmong } from "../demo/leftovers.js";
import { tellStory } from "../demo/story.js";
import { createSurroundings } from "../demo/surroundings.js";
import { createTranscript, expect } from "../demo/transcript.js";
import { stopSignal } from "../stop-signal.js";

/** Far above what it takes (under a minute on two cores): it must not hang where something is broken. */
const limitMs = 300_000;

export default command({
  name: "demo",
  description: "The main job on real input, with a worker that is killed in the middle of it",
  args: {
    provider: {
      type: "string",
      valueHint: "just-bash|docker",
      description: "What isolates (default: just-bash)",
    },
    image: { type: "string", valueHint: "name", description: "For docker (default: holdfast-base:bookworm)" },
  },
  async run({ args, config, report }) {
    const startedAt = Date.now();
    const spec = specFor(args.provider ?? "just-bash", args.image ?? "holdfast-base:bookworm");
    const log = createTranscript((text) => {
      if (!report.json) process.stdout.write(text);
    });
    const stop = stopSignal(() => {
      log.say("Stopping ...");
    });
    const signal = AbortSignal.any([stop, AbortSignal.timeout(limitMs)]);
    const surroundings = await createSurroundings({ config, signal, onProgress: log.say });
    try {
      await Promise.race([tellStory(surroundings, spec, log), rejectOnAbort(signal)]);
    } catch (error) {
      report.note(await surroundings.lastWords());
      throw error;
    } finally {
      await surroundings.close();
    }
    const alive = aliveAmong(surroundings.pids);
    expect(alive.length === 0, `all processes ended (${alive.join(", ")})`);
    const seconds = ((Date.now() - startedAt) / 1000).toFixed(1);
    const { pids, stateDir } = surroundings;
    report.result(
      { provider: spec.provider, durationMs: Date.now() - startedAt, steps: log.rows },
      `\n${log.table()}\n\nAll of it held. ${pids.length} processes ended, ${stateDir} removed, ${seconds} s.`,
    );
    return 0;
  },
});

/** Checked before anything is started, with the client's own words. */
function specFor(provider: string, image: string): SessionSpec {
  const spec = provider === "just-bash" ? { provider } : { provider, template: { image } };
  const parsed = parse<SessionSpec>(sessionSpecSchema, spec, "spec");
  if (!parsed.ok) throw HoldfastError.from(parsed.failure);
  return parsed.value;
}

function rejectOnAbort(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener("abort", () => {
      const reason = `The demo was stopped: ${String(signal.reason)}`;
      reject(new HoldfastError("unavailable", reason, { hint: "Everything it started was removed." }));
    });
  });
}
