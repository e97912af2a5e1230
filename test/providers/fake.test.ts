import { createFakeProvider } from "../../src/providers/fake/provider.js";
import { describeProvider } from "./suite.js";

describeProvider({
  name: "fake",
  create() {
    const provider = createFakeProvider({ hostId: "host-1" });
    return Promise.resolve({
      provider,
      another: () => Promise.resolve(provider),
      dispose: () => provider.close(),
    });
  },
  spec: { provider: "fake" },
  commands: {
    print: (output) => JSON.stringify(output),
    wait: (delayMs, stdout = "") => JSON.stringify({ stdout, delayMs }),
  },
  shell: false,
  skips: {},
});
