import { describeDocker } from "../support/describe-docker.js";
import { baseImage, createInstallation } from "../support/docker-engine.js";
import { bashCommands } from "./subject.js";
import { describeProvider } from "./suite.js";

describeDocker("conformance", () => {
  describeProvider({
    name: "docker",
    create() {
      const installation = createInstallation();
      return Promise.resolve({
        provider: installation.provider(),
        another: () => Promise.resolve(installation.provider()),
        dispose: () => installation.cleanUp(),
      });
    },
    spec: { provider: "docker", template: { image: baseImage } },
    commands: bashCommands,
    shell: true,
    skips: {},
  });
});
