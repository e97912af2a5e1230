import { randomBytes } from "node:crypto";
import { createWriteStream } from "node:fs";
import { rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { artifactKey, createLocalArtifactStore } from "../../artifacts/local-artifact-store.js";
import { HoldfastError } from "../../client/index.js";
import { parse } from "../../contract/parse.js";
import { artifactRefSchema, type ArtifactRef } from "../../contract/refs.js";
import { command } from "../command.js";
import { parseJson } from "../parse-flags.js";

export default command({
  name: "artifact get",
  description: "Print the bytes of an artifact, checked against its hash",
  args: {
    artifact: { type: "positional", description: "Reference (JSON), key, or sha256", required: true },
    output: {
      type: "string",
      alias: "o",
      valueHint: "file",
      description: "Write there, whole or not at all",
    },
  },
  async run({ args, config, report }) {
    const ref = await refFrom(args.artifact, config.artifactsDir);
    const content = createLocalArtifactStore({ directory: config.artifactsDir }).get(ref);
    if (args.output === undefined) {
      await pipeline(content, process.stdout, { end: false });
      return 0;
    }
    const draft = `${args.output}.${randomBytes(6).toString("hex")}`;
    try {
      await pipeline(content, createWriteStream(draft, { flags: "wx" }));
      await rename(draft, args.output);
    } finally {
      await rm(draft, { force: true });
    }
    report.result({ ...ref, path: args.output }, `${ref.sizeBytes} bytes written to ${args.output}`);
    return 0;
  },
});

/** A key alone names the content; its size is what the store has. */
async function refFrom(text: string, directory: string): Promise<ArtifactRef> {
  if (text.startsWith("{")) {
    const parsed = parse(artifactRefSchema, parseJson(text, "artifact"), "artifact");
    if (!parsed.ok) throw HoldfastError.from(parsed.failure);
    return parsed.value;
  }
  const sha256 = /^(?:sha256\/[0-9a-f]{2}\/)?([0-9a-f]{64})$/.exec(text)?.[1];
  if (sha256 === undefined) {
    throw new HoldfastError("invalid-request", `artifact: ${JSON.stringify(text)} is no reference`, {
      field: "artifact",
      hint: "Give the JSON that `artifact put` printed, a key (sha256/ab/...), or the 64 hex digits.",
    });
  }
  const key = artifactKey(sha256);
  try {
    return { key, sha256, sizeBytes: (await stat(join(directory, key))).size };
  } catch (error) {
    throw new HoldfastError("not-found", `There is no artifact ${key} in ${directory}.`, {
      hint: "Check HOLDFAST_ARTIFACTS: hosts and clients of one installation share one directory.",
      cause: error,
    });
  }
}
