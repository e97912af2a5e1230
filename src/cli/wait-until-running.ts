import { setTimeout as sleep } from "node:timers/promises";
import { HoldfastError, type Session } from "../client/index.js";

/** Resolves when the sandbox is there; throws what kept it from starting. */
export async function waitUntilRunning(session: Session): Promise<void> {
  for (let delayMs = 50; ; delayMs = Math.min(1_000, delayMs * 2)) {
    const { status, failure } = await session.state();
    if (status === "running" || status === "stopped") return;
    if (status === "failed" || status === "deleting" || status === "deleted") {
      if (failure !== undefined) throw HoldfastError.from(failure);
      throw new HoldfastError("closed", `Session ${session.sessionId} is ${status}.`, {
        hint: "Start a new one.",
      });
    }
    await sleep(delayMs);
  }
}
