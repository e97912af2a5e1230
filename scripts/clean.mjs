/** Removes what a build makes, so that a package holds no file whose source is gone. */
import { rm } from "node:fs/promises";

await rm(new URL("../dist", import.meta.url), { recursive: true, force: true });
