import type { Check, CheckContext } from "./check.js";
import { runTool } from "./run-tool.js";

/** What tests and the demo start from; `scripts/base-image.sh` makes it. */
export const baseImage = "holdfast-base:bookworm";

export async function checkDocker({ config }: Pick<CheckContext, "config">): Promise<Check[]> {
  const { dockerCli, environment } = config;
  const version = await runTool(
    dockerCli,
    ["version", "--format", "{{.Client.Version}} {{.Server.Version}} {{.Server.Os}}/{{.Server.Arch}}"],
    environment,
  );
  if (!version.ok) {
    return [
      {
        name: "Docker",
        status: "warning",
        detail: version.reason,
        hint:
          "Only for provider docker: install an engine and start its daemon, let this user reach it, " +
          "or name the CLI by HOLDFAST_DOCKER.",
      },
    ];
  }
  const [client = "?", server = "?", platform = "?"] = version.stdout.trim().split(" ");
  // DOCKER_HOST and contexts name engines elsewhere: which one this is has to be seen.
  const endpoint = await runTool(
    dockerCli,
    ["context", "inspect", "--format", "{{.Endpoints.docker.Host}}"],
    environment,
  );
  const at = endpoint.ok ? ` at ${endpoint.stdout.trim()}` : "";
  const image = await runTool(dockerCli, ["image", "inspect", "--format", "{{.Id}}", baseImage], environment);
  return [
    { name: "Docker", status: "ok", detail: `client ${client}, daemon ${server} (${platform})${at}` },
    image.ok
      ? { name: "base image", status: "ok", detail: baseImage }
      : {
          name: "base image",
          status: "warning",
          detail: `${baseImage} is not on this host`,
          hint:
            "Run scripts/base-image.sh of the package (needs mmdebstrap), or name another image with bash " +
            "and coreutils as `template.image`.",
        },
  ];
}
