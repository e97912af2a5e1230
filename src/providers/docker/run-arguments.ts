import type { ResolvedSpec } from "../../contract/spec.js";
import { encodeLabels, type ResourceLabels } from "../labels.js";
import { labelArguments, nameArgument } from "./arguments.js";
import { guestPath, outputsPath, supervisorPids, uploadsPath } from "./sandbox-layout.js";

export interface RunArguments {
  readonly name: string;
  readonly imageId: string;
  readonly labels: ResourceLabels;
  readonly spec: ResolvedSpec;
  readonly uid: number;
  readonly gid: number;
}

/**
 * `docker run` of a session: the floor. The guest is root with three capabilities, commands get none. No
 * variable of the session is here: argument lists and the container's configuration are public.
 */
export function runArguments({ name, imageId, labels, spec, uid, gid }: RunArguments): string[] {
  const { limits } = spec;
  const tmpfs = (path: string, sizeBytes: number, options: string): string[] => [
    ...["--tmpfs", `${path}:rw,nosuid,nodev,noexec,size=${sizeBytes},${options}`],
  ];
  return [
    ...["run", "--detach", "--pull", "never", "--name", nameArgument(name, "container")],
    ...labelArguments(encodeLabels(labels)),
    // What the image says about these must not reach the guest, which is process 1 and ends on SIGTERM.
    ...["--user", "0", "--workdir", "/", "--stop-signal", "SIGTERM", "--no-healthcheck"],
    ...["--cap-drop", "ALL", "--cap-add", "SETUID", "--cap-add", "SETGID", "--cap-add", "KILL"],
    ...["--security-opt", "no-new-privileges"],
    ...["--pids-limit", String(limits.pids + supervisorPids)],
    // The same value for both: no swap, so that the limit is what it says.
    ...["--memory", String(limits.memoryBytes), "--memory-swap", String(limits.memoryBytes)],
    ...["--cpus", String(limits.cpus), "--ulimit", "core=0"],
    ...["--network", spec.network === "allow-all" ? "bridge" : "none"],
    ...tmpfs(uploadsPath, limits.uploadsBytes, "mode=755"),
    // Owned by the session user from the start: a root without capabilities can't give it away later.
    ...tmpfs(outputsPath, limits.outputsBytes, `mode=700,uid=${uid},gid=${gid}`),
    // Only the guest writes there, when it is in trouble; bounded, whatever the engine's default driver is.
    ...["--log-driver", "json-file", "--log-opt", "max-size=1m"],
    ...["--entrypoint", guestPath, nameArgument(imageId, "image"), "supervise", "--user", spec.user],
  ];
}
