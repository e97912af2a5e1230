/** Writes `schemas/*.json` from the contract. `.ci/run` checks that this leaves no difference. */
import { mkdir, rm, writeFile } from "node:fs/promises";
import { schemaFiles } from "./schema-files.js";

const folder = new URL("../schemas/", import.meta.url);
await rm(folder, { recursive: true, force: true });
await mkdir(folder);
for (const [name, text] of schemaFiles()) await writeFile(new URL(name, folder), text);
