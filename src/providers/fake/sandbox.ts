import { randomUUID } from "node:crypto";
import type { Handle, SessionIdentity } from "../../contract/sandbox.js";
import type { NetworkPolicy } from "../../contract/spec.js";
import type { FakeCall } from "./call.js";
import { FakeFiles } from "./files.js";
import type { Steps } from "./steps.js";
import { ProviderError } from "../errors.js";

/** One sandbox in memory. */
export class FakeSandbox {
  readonly id: string;
  readonly session: SessionIdentity;
  readonly generation: Handle["generation"];
  readonly templateKey: string;
  readonly steps: Steps;
  readonly files: FakeFiles;
  readonly calls = new Map<string, FakeCall>();
  readonly createdAtMs = Date.now();
  network: NetworkPolicy;
  state: "running" | "stopped" | "removed" = "running";
  epoch: string = randomUUID();

  constructor(made: {
    id: string;
    session: SessionIdentity;
    generation: Handle["generation"];
    templateKey: string;
    steps: Steps;
    network: NetworkPolicy;
    workspace: string;
  }) {
    this.id = made.id;
    this.session = made.session;
    this.generation = made.generation;
    this.templateKey = made.templateKey;
    this.steps = made.steps;
    this.network = made.network;
    this.files = new FakeFiles([made.workspace, "/mnt/session"], () => {
      this.requireRunning();
    });
  }

  requireRunning(): void {
    const { sessionId } = this.session;
    if (this.state === "removed") {
      throw new ProviderError("session-lost", `the sandbox of session ${sessionId} is gone`);
    }
    if (this.state === "stopped") {
      throw new ProviderError("closed", `session ${sessionId} is stopped`, { hint: "Resume it first." });
    }
  }

  halt(state: "stopped" | "removed"): void {
    this.state = state;
    for (const call of this.calls.values()) call.kill(state === "stopped" ? "stop" : "delete");
  }

  resume(): void {
    if (this.state !== "stopped") return;
    this.state = "running";
    this.epoch = randomUUID();
  }

  handle(hostId: string): Handle {
    return {
      version: 1,
      provider: "fake",
      hostId,
      sandboxId: this.id,
      session: this.session,
      generation: this.generation,
      templateKey: this.templateKey,
      data: { network: this.network },
    };
  }
}
