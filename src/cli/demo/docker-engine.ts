import { HoldfastError } from "../../client/index.js";
import type { HoldfastConfig } from "../../config.js";
import { encodeLabelValue, labelPrefix } from "../../providers/labels.js";
import { baseImage, checkDocker } from "../doctor/check-docker.js";
import { checkGuest } from "../doctor/check-guest.js";
import { runTool } from "../doctor/run-tool.js";
import { expect } from "./transcript.js";

/** Before anything is started: what is missing is said with what to do, in the words of `holdfast doctor`. */
export async function requireDocker(config: HoldfastConfig, image: string): Promise<void> {
  const checks = [...(await checkDocker({ config })), ...(await checkGuest())];
  // Another image may still be pulled, by the session's own policy.
  const needed = checks.filter(({ name }) => name !== "base image" || image === baseImage);
  const missing = needed.find(({ status }) => status !== "ok");
  if (missing === undefined) return;
  throw new HoldfastError("unavailable", `The demo can't run on docker: ${missing.name}: ${missing.detail}`, {
    ...(missing.hint === undefined ? {} : { hint: missing.hint }),
  });
}

interface Labelled {
  readonly kind: "container" | "volume" | "network" | "image";
  readonly id: string;
}

const listings = [
  ["container", ["ps", "--all", "--no-trunc"]],
  ["volume", ["volume", "ls"]],
  ["network", ["network", "ls", "--no-trunc"]],
  ["image", ["images", "--no-trunc"]],
] as const;

/** Everything on the engine that has this installation's label. */
export async function listLabelled(config: HoldfastConfig): Promise<Labelled[]> {
  const filter = ["--filter", `label=${labelPrefix}owner=${encodeLabelValue(config.owner ?? "")}`, "--quiet"];
  const found: Labelled[] = [];
  for (const [kind, list] of listings) {
    const listed = await runTool(config.dockerCli, [...list, ...filter], config.environment);
    if (!listed.ok) throw new HoldfastError("unavailable", `${kind}s can't be listed: ${listed.reason}`);
    const ids = new Set(listed.stdout.split("\n").filter((id) => id !== ""));
    found.push(...Array.from(ids, (id) => ({ kind, id })));
  }
  return found;
}

const removals = {
  container: ["rm", "--force", "--volumes"],
  volume: ["volume", "rm", "--force"],
  network: ["network", "rm"],
  image: ["rmi", "--force"],
} as const;

/**
 * The demo is an installation that ends with it, so its templates go too, and whatever a story that failed left.
 * In the order of the listings: an image that a container uses can't be removed. Returns what was removed.
 */
export async function removeLabelled(config: HoldfastConfig): Promise<string[]> {
  const labelled = await listLabelled(config);
  for (const { kind, id } of labelled) {
    const removed = await runTool(config.dockerCli, [...removals[kind], id], config.environment);
    if (!removed.ok) {
      throw new HoldfastError("unavailable", `${kind} ${id} can't be removed: ${removed.reason}`);
    }
  }
  const left = await listLabelled(config);
  expect(left.length === 0, `nothing is left on the engine (${left.map(({ id }) => id).join(", ")})`);
  return labelled.map(({ kind, id }) => `${kind} ${id.replace(/^sha256:/, "").slice(0, 12)}`);
}
