import { open, type FileHandle } from "node:fs/promises";
import { createLocalArtifactStore } from "../../artifacts/local-artifact-store.js";
import { HoldfastError } from "../../client/index.js";
import { command } from "../command.js";

export default command({
  name: "artifact put",
  description: "Store a file and print its reference, for programs that don't use this library",
  args: {
    file: { type: "positional", description: "File, - for stdin", required: true },
    "mime-type": { type: "string", valueHint: "type", description: "Noted in the reference" },
  },
  async run({ args, config, report }) {
    const store = createLocalArtifactStore({ directory: config.artifactsDir });
    const content = args.file === "-" ? process.stdin : (await openFile(args.file)).createReadStream();
    const mimeType = args["mime-type"];
    const ref = await store.put(content, mimeType === undefined ? {} : { mimeType });
    report.result(ref, JSON.stringify(ref));
    return 0;
  },
});

/** Opened first: a stream that fails before anybody reads it ends the process. */
async function openFile(path: string): Promise<FileHandle> {
  try {
    const file = await open(path);
    if ((await file.stat()).isFile()) return file;
    await file.close();
    throw new Error(`${path} is not a regular file`);
  } catch (error) {
    throw new HoldfastError("invalid-request", `file: ${(error as Error).message}`, {
      field: "file",
      hint: "Name a file that can be read, or - for stdin.",
      cause: error,
    });
  }
}
