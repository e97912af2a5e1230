import { z } from "zod";
import { ProviderError } from "../errors.js";
import { decodeLabels, type ResourceLabels } from "../labels.js";
import { cliFailure } from "./cli-failure.js";
import type { DockerDeps } from "./deps.js";
import { engineTimeouts } from "./engine-timeouts.js";
import { parseEngineTime } from "./engine-time.js";
import { nameArgument } from "./arguments.js";

const containerSchema = z.object({
  Id: z.string(),
  Name: z.string(),
  Created: z.string(),
  State: z.object({ Status: z.string(), StartedAt: z.string(), ExitCode: z.number() }),
  Config: z.object({ Labels: z.record(z.string(), z.string()).nullish() }),
  HostConfig: z.object({ PidsLimit: z.number().nullish() }),
  NetworkSettings: z.object({ Networks: z.record(z.string(), z.unknown()).nullish() }),
});

export interface Container {
  readonly id: string;
  readonly name: string;
  /** created, running, paused, restarting, removing, exited, dead */
  readonly status: string;
  readonly createdAtMs: number | undefined;
  /** Undefined when the labels are not ours, or not all of ours. */
  readonly labels: ResourceLabels | undefined;
  readonly pidsLimit: number | undefined;
  readonly networks: readonly string[];
}

/** Reads containers by id or name. Those the engine doesn't have are left out; any other failure throws. */
export async function inspectContainers(
  deps: DockerDeps,
  idsOrNames: readonly string[],
  signal: AbortSignal | undefined,
): Promise<Container[]> {
  if (idsOrNames.length === 0) return [];
  const args = ["container", "inspect", ...idsOrNames.map((name) => nameArgument(name, "container"))];
  const result = await deps.cli.run({
    args,
    timeoutMs: engineTimeouts.readMs,
    ...(signal === undefined ? {} : { signal }),
  });
  // One missing container makes the exit code 1 although the others were printed.
  const complaints = result.stderr
    .split("\n")
    .filter((line) => line.trim() !== "" && !/^warning:/i.test(line));
  const isOnlyMissing =
    complaints.length > 0 && complaints.every((line) => /no such (container|object)/i.test(line));
  if (result.exitCode !== 0 && !isOnlyMissing) throw cliFailure(args, result);
  const parsed = z.array(containerSchema).safeParse(parseJson(result.stdout));
  if (!parsed.success) {
    throw new ProviderError("unsupported", "docker container inspect: its answer can't be read", {
      hint: "Docker 20.10 or newer is needed, or a CLI with the same output.",
      cause: parsed.error,
    });
  }
  return parsed.data.map((found) => ({
    id: found.Id,
    name: found.Name.replace(/^\//, ""),
    status: found.State.Status,
    createdAtMs: parseEngineTime(found.Created),
    labels: decodeLabels(found.Config.Labels ?? {}),
    pidsLimit: found.HostConfig.PidsLimit ?? undefined,
    networks: Object.keys(found.NetworkSettings.Networks ?? {}),
  }));
}

export async function inspectContainer(
  deps: DockerDeps,
  idOrName: string,
  signal: AbortSignal | undefined,
): Promise<Container | undefined> {
  return (await inspectContainers(deps, [idOrName], signal))[0];
}

function parseJson(text: string): unknown {
  try {
    return text === "" ? [] : JSON.parse(text);
  } catch {
    // The schema refuses undefined, with the reader's own words.
    return undefined;
  }
}
