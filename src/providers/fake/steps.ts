import { setTimeout as sleep } from "node:timers/promises";
import type { Failure } from "../../contract/refs.js";
import { failureCodes } from "../../contract/names.js";
import { ProviderError } from "../errors.js";

export const stepNames = ["prepare", "start", "resume", "stop", "remove", "connect"] as const;
export type StepName = (typeof stepNames)[number];

/** What one step of the fake does beside its work. */
export interface StepBehaviour {
  readonly delayMs?: number;
  /** Fails with this code, before anything is changed. */
  readonly failure?: Failure["code"];
  /** How often it fails before it works; without a number it always does. */
  readonly failTimes?: number;
  /** Of `start`: the abort is obeyed at once, but what it was making lands all the same when the delay is over. */
  readonly landsLate?: boolean;
}

export type Steps = Readonly<Partial<Record<StepName, StepBehaviour>>>;

/**
 * The same by variables, for a worker in another process. In `template.env`, with STEP one of PREPARE, START,
 * RESUME, STOP, REMOVE, CONNECT:
 *
 * - `FAKE_<STEP>_DELAY_MS`: waits so long first
 * - `FAKE_<STEP>_FAIL`: the code it fails with, `unavailable` for example
 * - `FAKE_<STEP>_FAIL_TIMES`: how often it fails before it works
 * - `FAKE_START_LANDS_LATE`: `1`, see `landsLate`
 */
export function stepsFromEnv(env: Readonly<Record<string, string>> | undefined): Steps {
  const steps: Partial<Record<StepName, StepBehaviour>> = {};
  for (const step of stepNames) {
    const prefix = `FAKE_${step.toUpperCase()}`;
    const failure = env?.[`${prefix}_FAIL`];
    const delayMs = number(env, `${prefix}_DELAY_MS`);
    const failTimes = number(env, `${prefix}_FAIL_TIMES`);
    const behaviour: StepBehaviour = {
      ...(delayMs === undefined ? {} : { delayMs }),
      ...(failure === undefined ? {} : { failure: codeOf(failure, `${prefix}_FAIL`) }),
      ...(failTimes === undefined ? {} : { failTimes }),
      ...(env?.[`${prefix}_LANDS_LATE`] === "1" ? { landsLate: true } : {}),
    };
    if (Object.keys(behaviour).length > 0) steps[step] = behaviour;
  }
  return steps;
}

/** Counts how often each step has failed as told, for one thing (a template key, a session). */
export class StepRunner {
  readonly #defaults: Steps;
  readonly #failures = new Map<string, number>();

  constructor(defaults: Steps) {
    this.#defaults = defaults;
  }

  behaviour(step: StepName, own: Steps): StepBehaviour {
    return { ...this.#defaults[step], ...own[step] };
  }

  /** Waits and fails as told. `subject` is what the failures are counted for. */
  async before(step: StepName, subject: string, own: Steps, signal?: AbortSignal): Promise<void> {
    const { delayMs = 0, failure, failTimes = Number.POSITIVE_INFINITY } = this.behaviour(step, own);
    signal?.throwIfAborted();
    if (delayMs > 0) await pause(delayMs, signal);
    if (failure === undefined) return;
    const key = `${step}/${subject}`;
    const failed = this.#failures.get(key) ?? 0;
    if (failed >= failTimes) return;
    this.#failures.set(key, failed + 1);
    throw new ProviderError(failure, `fake: ${step} fails as told`, {
      hint: "This is a scripted failure of the fake provider.",
    });
  }
}

/** Throws the signal's own reason, as whoever aborts expects it. */
export async function pause(delayMs: number, signal: AbortSignal | undefined): Promise<void> {
  try {
    await sleep(delayMs, undefined, { signal });
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  }
}

function number(env: Readonly<Record<string, string>> | undefined, name: string): number | undefined {
  const text = env?.[name];
  if (text === undefined) return undefined;
  const value = Number(text);
  if (Number.isInteger(value) && value >= 0) return value;
  throw new ProviderError("invalid-request", `${name} is ${JSON.stringify(text)}, not a count`, {
    field: `spec.template.env.${name}`,
    hint: "Use a whole number of at least 0.",
  });
}

function codeOf(text: string, name: string): Failure["code"] {
  const code = failureCodes.find((known) => known === text);
  if (code !== undefined) return code;
  throw new ProviderError("invalid-request", `${name} is ${JSON.stringify(text)}, not a failure code`, {
    field: `spec.template.env.${name}`,
    hint: `Use one of: ${failureCodes.join(", ")}.`,
  });
}
