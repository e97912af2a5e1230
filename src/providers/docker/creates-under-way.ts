import type { SessionIdentity } from "../../contract/sandbox.js";

/** One create that this process has sent to the engine. */
export interface CreateTicket {
  readonly session: SessionIdentity;
  readonly generation: number;
  /** Set when the session was removed meanwhile: whatever lands must go again. */
  readonly isFenced: boolean;
  end(): void;
}

/**
 * Creates whose container the engine doesn't list yet. A remove that comes meanwhile finds nothing; it fences
 * these, waits for them and looks again, so that a slow create leaves nothing behind.
 */
export class CreatesUnderWay {
  readonly #tickets = new Set<Ticket>();

  begin(session: SessionIdentity, generation: number): CreateTicket {
    const ticket = new Ticket(session, generation, (ended) => this.#tickets.delete(ended));
    this.#tickets.add(ticket);
    return ticket;
  }

  /** Fences the session's creates up to the generation. Resolves with each one's end; empty when there is none. */
  fence(session: SessionIdentity, upToGeneration: number): Promise<void>[] {
    const own = [...this.#tickets].filter(
      (ticket) =>
        ticket.session.sessionId === session.sessionId &&
        ticket.session.runId === session.runId &&
        ticket.generation <= upToGeneration,
    );
    for (const ticket of own) ticket.isFenced = true;
    return own.map((ticket) => ticket.ended);
  }
}

class Ticket implements CreateTicket {
  isFenced = false;
  readonly ended: Promise<void>;
  #resolve: (() => void) | undefined;

  constructor(
    readonly session: SessionIdentity,
    readonly generation: number,
    private readonly onEnd: (ticket: Ticket) => void,
  ) {
    this.ended = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  end(): void {
    this.onEnd(this);
    this.#resolve?.();
  }
}
