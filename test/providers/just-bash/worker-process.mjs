// A worker of its own: connects to a session, starts a command in it and waits. Runs the last build.
import { createJustBashProvider } from "../../../dist/providers/just-bash/provider.js";

const { stateDir, handle, request } = JSON.parse(process.argv[2]);
const provider = await createJustBashProvider({ stateDir, hostId: "host-1", owner: "owner-1" });
const context = { signal: new AbortController().signal, onProgress: () => undefined };
const channel = await provider.connect(handle, context);
const { state } = await channel.run(request);
process.stdout.write(`${state}\n`);
setInterval(() => undefined, 1000);
