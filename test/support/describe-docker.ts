import { access } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "vitest";
import { baseImage, docker, guestDirectory } from "./docker-engine.js";

/** Why docker suites can't run here; undefined when they can. With HOLDFAST_TEST_DOCKER=required that is a failure. */
async function findObstacle(): Promise<string | undefined> {
  let arch: string;
  try {
    arch = await docker("version", "--format", "{{.Server.Arch}}");
  } catch (error) {
    return `no Docker engine answers (test/support/docker-start.sh starts one): ${firstLine(error)}`;
  }
  try {
    await docker("image", "inspect", baseImage);
  } catch {
    return `the image ${baseImage} is missing: run scripts/base-image.sh`;
  }
  try {
    await access(join(guestDirectory, `holdfast-guest-linux-${arch}`));
  } catch {
    return `the guest for linux/${arch} is not built: run npm run build:guest`;
  }
  return undefined;
}

const obstacle = await findObstacle();
const isRequired = process.env["HOLDFAST_TEST_DOCKER"] === "required";

/** A suite on a real engine. Without one it is left out by name, or fails when Docker is required. */
export function describeDocker(name: string, suite: () => void): void {
  if (obstacle === undefined) describe(`docker: ${name}`, suite);
  else {
    it(`docker: ${name} (whole suite)`, (context) => {
      if (isRequired) throw new Error(`HOLDFAST_TEST_DOCKER=required, but ${obstacle}`);
      context.skip(obstacle);
    });
  }
}

function firstLine(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).split("\n").slice(0, 2).join(" ");
}
