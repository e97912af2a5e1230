import { startDevServer } from "../../src/dev-server/index.js";

/** A Temporal server of one test run, with its state in memory. */
export interface TestTemporalServer {
  readonly address: string;
  readonly namespace: string;
  stop(): Promise<void>;
}

/** The dev server as the product starts it, found as the product finds it: the first run may download it. */
export async function startTestTemporalServer(): Promise<TestTemporalServer> {
  const server = await startDevServer({
    onProgress: (message) => {
      process.stderr.write(`test server: ${message}\n`);
    },
  });
  return { address: server.address, namespace: "default", stop: () => server.stop() };
}
