import { z } from "zod";
import { ProviderError } from "../errors.js";
import type { OperationContext } from "../provider.js";
import type { DockerDeps } from "./deps.js";
import { engineTimeouts } from "./engine-timeouts.js";
import { guestPath } from "./sandbox-layout.js";

/** Of a failed step's output, what its error shows: the end says why. */
const tailChars = 4_000;
/** A progress line is for people; a program that prints without newlines must not flood it. */
const progressChars = 200;

export interface BuildStepRequest {
  readonly what: string;
  /** For `bash -c`, with `args` as $1, $2, ... */
  readonly script: string;
  readonly args: readonly string[];
  readonly input?: string | Uint8Array;
  readonly workdir?: string;
}

export interface BuildShell {
  /** Runs one step as root in the build container, returns its stdout. Throws `template-failed` with its output. */
  run(step: BuildStepRequest): Promise<string>;
  /** Proves that the guest runs on this image and is the one we placed. */
  preflight(guestSha256: string): Promise<void>;
}

const versionSchema = z.object({ protocol: z.number(), build: z.string() });

export function createBuildShell(
  deps: DockerDeps,
  { container, context }: { container: string; context: OperationContext },
): BuildShell {
  const run = async (step: BuildStepRequest): Promise<string> => {
    context.onProgress(step.what);
    let tail = "";
    const interactive = step.input === undefined ? [] : ["--interactive"];
    const result = await deps.cli.run({
      args: [
        ...["exec", ...interactive, "--user", "0", "--workdir", step.workdir ?? "/", container],
        ...["bash", "-c", step.script, "holdfast", ...step.args],
      ],
      timeoutMs: engineTimeouts.setupMs,
      signal: context.signal,
      ...(step.input === undefined ? {} : { input: step.input }),
      onLine: (line) => {
        tail = `${tail}${line}\n`.slice(-tailChars);
        if (line.trim() !== "") context.onProgress(`${step.what}: ${line.trim().slice(0, progressChars)}`);
      },
    });
    if (result.exitCode === 0) return result.stdout;
    throw new ProviderError(
      "template-failed",
      `${step.what} failed with exit code ${result.exitCode}:\n${tail.trim()}`,
      { field: "spec.template", hint: "Nothing was kept. Correct the template and start again." },
    );
  };

  return {
    run,
    async preflight(guestSha256) {
      const text = await run({ what: "checking the guest", script: `exec "$1" version`, args: [guestPath] });
      const version = versionSchema.safeParse(parseJson(text));
      if (version.success && version.data.build === guestSha256) return;
      throw new ProviderError("template-failed", "the guest in the image is not the one that was placed", {
        hint: `Does the image or a setup command replace ${guestPath}?`,
      });
    },
  };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // What isn't JSON isn't our guest's answer; the schema says so.
    return undefined;
  }
}
