// Swaps a directory for a link to another one and back, as fast as it can, until it is killed.
import { mkdirSync, renameSync, rmSync, symlinkSync } from "node:fs";

const [victim, hidden, target] = process.argv.slice(2);
const attempt = (work) => {
  try {
    work();
  } catch {
    // A write made the directory anew in the gap; the next round clears it away.
  }
};
process.stdout.write("swapping\n");
for (;;) {
  attempt(() => renameSync(victim, hidden));
  attempt(() => symlinkSync(target, victim));
  // Long enough in each state that the other process meets both.
  for (let spin = 0; spin < 20_000; spin++);
  attempt(() => rmSync(victim, { recursive: true, force: true }));
  attempt(() => renameSync(hidden, victim));
  attempt(() => mkdirSync(victim, { recursive: true }));
  for (let spin = 0; spin < 20_000; spin++);
}
