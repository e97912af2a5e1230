import type { Check, CheckContext } from "./check.js";
import { checkDocker } from "./check-docker.js";
import { checkGuest } from "./check-guest.js";
import { checkHost } from "./check-host.js";
import { checkMsb } from "./check-msb.js";
import { checkTemporal } from "./check-temporal.js";

/** All at once: a daemon that does not answer must not hold up the rest. */
export async function runChecks(context: CheckContext): Promise<Check[]> {
  const groups = await Promise.all([
    checkHost(context),
    checkTemporal(context),
    checkDocker(context),
    checkGuest(),
    checkMsb(context),
  ]);
  return groups.flat();
}
