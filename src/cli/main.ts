#!/usr/bin/env node
import { runCli } from "./run-cli.js";

// Not process.exit: it would cut what is still on its way to a pipe.
process.exitCode = await runCli(process.argv.slice(2));
