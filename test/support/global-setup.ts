import type {} from "vitest";
import type { TestProject } from "vitest/node";
import { buildDist } from "./build.js";
import { startTestTemporalServer } from "./temporal-server.js";

declare module "vitest" {
  interface ProvidedContext {
    /** `inject("temporal")`: the one server of this run. Tests keep apart by task queue and workflow id. */
    temporal: { address: string; namespace: string };
  }
}

/** Once a run: a fresh `dist`, and one Temporal server for all test files. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  await buildDist();
  const server = await startTestTemporalServer();
  project.provide("temporal", { address: server.address, namespace: server.namespace });
  return () => server.stop();
}
