import type { Check, CheckContext } from "./check.js";
import { runTool } from "./run-tool.js";

export async function checkMsb({ config }: CheckContext): Promise<Check[]> {
  const { msbCli = "msb", environment } = config;
  const version = await runTool(msbCli, ["--version"], environment);
  return [
    version.ok
      ? { name: "msb", status: "ok", detail: version.stdout.trim() }
      : {
          name: "msb",
          status: "warning",
          detail: version.reason,
          hint: "Only for provider msb: install microsandbox 0.6 or 0.7, or name its CLI by HOLDFAST_MSB.",
        },
  ];
}
