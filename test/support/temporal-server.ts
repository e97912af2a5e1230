import { execa } from "execa";
import { TestWorkflowEnvironment } from "@temporalio/testing";

/** A running server. */
export interface TemporalServer {
  readonly address: string;
  readonly namespace: string;
  close(): Promise<void>;
}

export async function startTemporalServer(): Promise<TemporalServer> {
  const found = await execa("which", ["temporal"], { reject: false });
  const path = process.env.HOLDFAST_TEMPORAL_CLI ?? (found.stdout || "temporal");
  const environment = await TestWorkflowEnvironment.createLocal({
    server: { executable: { type: "existing-path", path } },
  });
  return {
    address: environment.address,
    namespace: environment.namespace ?? "default",
    close: () => environment.teardown(),
  };
}
