import type { Check, CheckContext } from "./check.js";
import { runTool } from "./run-tool.js";

const baseImage = "holdfast-base:bookworm";

export async function checkDocker({ config }: CheckContext): Promise<Check[]> {
  const { dockerCli, environment } = config;
  const version = await runTool(
    dockerCli,
    ["version", "--format", "{{.Client.Version}} {{.Server.Version}}"],
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
  const [client = "?", server = "?"] = version.stdout.trim().split(" ");
  const image = await runTool(dockerCli, ["image", "inspect", "--format", "{{.Id}}", baseImage], environment);
  return [
    { name: "Docker", status: "ok", detail: `client ${client}, daemon ${server}` },
    image.ok
      ? { name: "base image", status: "ok", detail: baseImage }
      : {
          name: "base image",
          status: "warning",
          detail: `${baseImage} is not on this host`,
          hint: "Any image with bash will do as `template.image`; docs/operations.md shows how to make this one.",
        },
  ];
}
