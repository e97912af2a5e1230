import { readdir } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { Check } from "./check.js";

/** The supervisor inside docker and msb sandboxes, shipped with the package. */
export async function checkGuest(): Promise<Check[]> {
  const directory = fileURLToPath(new URL("../../../guest/bin", import.meta.url));
  const files = await readdir(directory).catch((error: unknown) => {
    // Not built: what this check is there to find out.
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  });
  const arch = process.arch === "arm64" ? "arm64" : "amd64";
  const guests = files.filter((name) => name.startsWith("holdfast-guest-linux-"));
  return [
    guests.includes(`holdfast-guest-linux-${arch}`)
      ? { name: "guest", status: "ok", detail: guests.join(", ") }
      : {
          name: "guest",
          status: "warning",
          detail: `no binary for linux/${arch} in ${directory}`,
          hint: "Only for docker and msb: npm run build:guest (needs Go 1.24, or Python's pip to fetch it).",
        },
  ];
}
