import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { abortable, neverAborted } from "../../exec/abortable.js";
import type { CallEnd, KillOptions } from "../channel.js";
import { ProviderError } from "../errors.js";
import { CallRecord, type Claim } from "./call-record.js";
import type { CallRunner } from "./call-runner.js";
import { isErrno } from "./durable-file.js";
import { sessionPaths } from "./layout.js";

/** How often the records of a call that another process runs are looked at. */
export const pollMs = 100;

/** The call's end; one whose process died without recording it gets `lost`, for good. Undefined while it runs. */
export async function settle(
  record: CallRecord,
  claim: Claim,
  runner: CallRunner,
): Promise<CallEnd | undefined> {
  const end = await record.readEnd();
  if (end !== undefined) return end;
  if (await runner.isOwned(record, claim.owner)) return undefined;
  if (await record.isAcknowledged()) throw acknowledged(claim.callId);
  await record.createEnd({
    outcome: { kind: "lost", reason: "the worker process that ran the command died" },
    totals: await record.sizes(),
    startedAtMs: claim.startedAtMs,
    endedAtMs: Date.now(),
  });
  // Read again: when the owner recorded its own end just before it went, that one holds.
  return record.readEnd();
}

/**
 * Ends a call wherever on this host it runs, and returns when its end is recorded. The owner may be a process that
 * is frozen and answers nobody: the signal ends the waiting, and the request to kill stays.
 */
export async function killCall(
  target: KillOptions & { record: CallRecord; runner: CallRunner },
): Promise<void> {
  const { record, runner, cause, graceMs, signal = neverAborted() } = target;
  const claim = await record.readClaim();
  if (claim === undefined || (await record.isAcknowledged())) return;
  const here = runner.kill(record, cause, graceMs);
  if (here !== undefined) {
    await abortable(here, signal);
    return;
  }
  if ((await settle(record, claim, runner)) !== undefined) return;
  await record.createKill({ cause, graceMs });
  while ((await settle(record, claim, runner)) === undefined) await abortable(sleep(pollMs), signal);
}

export async function callRecords(sessionDirectory: string): Promise<CallRecord[]> {
  const { calls } = sessionPaths(sessionDirectory);
  try {
    return (await readdir(calls)).map((name) => new CallRecord(join(calls, name)));
  } catch (error) {
    // The session is being removed: then it has no calls.
    if (isErrno(error, "ENOENT")) return [];
    throw error;
  }
}

export function acknowledged(callId: string): ProviderError {
  return new ProviderError("not-found", `call ${callId} was acknowledged: its output is gone`, {
    hint: "Take the answer from where it was acknowledged.",
  });
}
