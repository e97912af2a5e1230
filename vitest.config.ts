import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: ["test/support/global-setup.ts"],
    // Real engines and a real server do the work: more files at once only make each other slow.
    maxWorkers: 2,
    // A test that waits for a worker to die and another to take over needs tens of seconds on 2 busy cores;
    // what has to be quick says so in its own assertion.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // Sockets of a worker that was killed on purpose close late.
    teardownTimeout: 20_000,
    reporters: ["default", "./test/support/summary-reporter.ts"],
  },
});
