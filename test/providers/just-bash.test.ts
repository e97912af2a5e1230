import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bashCommands } from "./subject.js";
import { createProvider } from "./just-bash/create-provider.js";
import { describeProvider } from "./suite.js";

describeProvider({
  name: "just-bash",
  async create() {
    const stateDir = await mkdtemp(join(tmpdir(), "holdfast-just-bash-"));
    const provider = await createProvider(stateDir);
    return {
      provider,
      another: () => createProvider(stateDir),
      async dispose() {
        await provider.close();
        await rm(stateDir, { recursive: true, force: true });
      },
    };
  },
  spec: { provider: "just-bash" },
  commands: bashCommands,
  shell: true,
  skips: {
    "B19-signals": "just-bash has no processes, so nothing can be killed by a signal",
    B13: "just-bash has no background jobs: `cmd &` is waited for",
    "B01-large": "just-bash has no `yes`",
    "text-ambiguous-stderr": "just-bash hands over stderr without saying whether it is text or bytes",
    fifo: "just-bash has no mkfifo; the host's side is tested in just-bash/files.test.ts",
    B45: "just-bash can't make a name that is not UTF-8; the host's side is tested in just-bash/files.test.ts",
    live: "just-bash gives a command's output at its end",
  },
});
