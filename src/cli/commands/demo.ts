import { HoldfastError } from "../../client/index.js";
import { parse } from "../../contract/parse.js";
import { sessionSpecSchema, type SessionSpec } from "../../contract/spec.js";
import { command } from "../command.js";
import { removeLabelled, requireDocker } from "../demo/docker-engine.js";
import { aliveAmong } from "../demo/leftovers.js";
import { tellStory } from "../demo/story.js";
import { createSurroundings, type Surroundings } from "../demo/surroundings.js";
import { createTranscript, expect } from "../demo/transcript.js";
import { baseImage } from "../doctor/check-docker.js";
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
    image: { type: "string", valueHint: "name", description: `For docker (default: ${baseImage})` },
  },
  async run({ args, config, report }) {
    const startedAt = Date.now();
    const spec = specFor(args.provider ?? "just-bash", args.image ?? baseImage);
    if (spec.provider === "docker") await requireDocker(config, args.image ?? baseImage);
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
      // What the story came to is the failure to tell; that something can't be removed comes beside it.
      await dismantle(surroundings, spec.provider).catch((second: unknown) => {
        report.note(String(second));
      });
      throw error;
    }
    const removed = await dismantle(surroundings, spec.provider);
    const alive = aliveAmong(surroundings.pids);
    expect(alive.length === 0, `all processes ended (${alive.join(", ")})`);
    const seconds = ((Date.now() - startedAt) / 1000).toFixed(1);
    const { pids, stateDir } = surroundings;
    const gone = [...removed, stateDir].map((what) => `${what} removed`).join(", ");
    report.result(
      { provider: spec.provider, durationMs: Date.now() - startedAt, steps: log.rows, removed },
      `\n${log.table()}\n\nAll of it held. ${pids.length} processes ended, ${gone}, ${seconds} s.`,
    );
    return 0;
  },
});

/** Ends the workers first: none may make a container any more when the engine is looked through. */
async function dismantle(surroundings: Surroundings, provider: string): Promise<string[]> {
  await surroundings.close();
  return provider === "docker" ? removeLabelled(surroundings.config) : [];
}

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
