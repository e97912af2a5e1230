import { describe, expect, it } from "vitest";
import { defaultTimeouts } from "../../src/contract/names.js";
import {
  newLifecycle,
  transition,
  type Lifecycle,
  type LifecycleEvent,
} from "../../src/workflows/session/lifecycle.js";
import { nextStep } from "../../src/workflows/session/next-step.js";

const idle = { queued: 0, running: 0 };
const minutes = (count: number) => count * 60_000;

/** Applies events one after another; each may bring its own time. */
function after(...events: (LifecycleEvent | [LifecycleEvent, number])[]): Lifecycle {
  return events.reduce<Lifecycle>((lifecycle, entry) => {
    const [event, nowMs] = Array.isArray(entry) ? entry : [entry, lifecycle.lastActivityMs];
    return transition(lifecycle, event, nowMs);
  }, newLifecycle(0));
}
const placed = (onLost: "fail" | "recreate" = "fail"): LifecycleEvent => ({
  type: "placed",
  timeouts: defaultTimeouts,
  onLost,
});
const step = (lifecycle: Lifecycle, nowMs = 0, load: Partial<typeof idle> = idle) =>
  nextStep(lifecycle, { ...idle, ...load }, { nowMs, maxConcurrentCalls: 2 });
const failure = { code: "session-lost", message: "container gone" } as const;

describe("the way of a session", () => {
  it("goes from placement over start to running, and from idle over stop to stopped", () => {
    expect(step(after())).toEqual({ do: "place" });
    expect(step(after(placed()))).toEqual({ do: "start" });
    const running = after(placed(), { type: "started" });
    expect(step(running)).toEqual({ do: "wait", untilMs: minutes(15) });
    expect(step(running, minutes(15))).toMatchObject({ do: "stop" });
    const stopped = after(placed(), { type: "started" }, { type: "stopping" }, [
      { type: "stopped" },
      minutes(20),
    ]);
    expect(stopped.status).toBe("stopped");
    expect(step(stopped, minutes(21))).toEqual({ do: "wait", untilMs: minutes(20 + 24 * 60) });
    expect(step(stopped, minutes(20 + 24 * 60))).toEqual({ do: "delete", reason: "stopped-ttl" });
  });

  it("never changes what it was given", () => {
    const before = Object.freeze(after(placed(), { type: "started" }));
    transition(before, { type: "stop-wanted" }, 5);
    expect(before.wanted).toEqual({});
  });

  it("stays as it is once it is deleted or failed, and takes only `deleted` while deleting", () => {
    const events: LifecycleEvent[] = [
      { type: "started" },
      { type: "stop-wanted" },
      { type: "resume-wanted" },
      { type: "delete-wanted", reason: "requested" },
      { type: "lost", failure },
      { type: "extend", timeouts: { idleMs: 1 } },
    ];
    const deleting = after(placed(), { type: "deleting", reason: "requested" });
    const ends = [transition(deleting, { type: "deleted" }, 1), after({ type: "failed", failure }), deleting];
    for (const end of ends) {
      for (const event of events) expect(transition(end, event, 9)).toBe(end);
    }
    expect(ends[0]?.status).toBe("deleted");
    expect(step(ends[0] as Lifecycle)).toEqual({ do: "end" });
  });
});

describe("wishes", () => {
  const running = after(placed(), { type: "started" });
  const stopped = after(placed(), { type: "started" }, { type: "stopping" }, { type: "stopped" });

  it("delete beats everything, in every state that isn't final", () => {
    for (const lifecycle of [after(), after(placed()), running, stopped]) {
      const wanted = transition(lifecycle, { type: "delete-wanted", reason: "requested" }, 0);
      expect(step(wanted, 0, { queued: 5, running: 2 })).toEqual({ do: "delete", reason: "requested" });
    }
  });

  it("the first reason to delete stays", () => {
    const wanted = transition(running, { type: "delete-wanted", reason: "workflow-cancel" }, 0);
    const again = transition(wanted, { type: "delete-wanted", reason: "requested" }, 0);
    expect(again.wanted.delete).toBe("workflow-cancel");
  });

  it("a stop that comes before the start is kept until it can be done", () => {
    const wanted = after(placed(), { type: "stop-wanted", graceMs: 7 });
    expect(step(wanted)).toEqual({ do: "start" });
    expect(step(transition(wanted, { type: "started" }, 0))).toEqual({
      do: "stop",
      graceMs: 7,
      cancelQueued: false,
    });
  });

  it("the later of stop and resume wins", () => {
    const both = transition(transition(running, { type: "stop-wanted" }, 0), { type: "resume-wanted" }, 0);
    expect(step(both)).toMatchObject({ do: "wait" });
    const stopping = transition(running, { type: "stopping" }, 0);
    const resume = transition(stopping, { type: "resume-wanted" }, 0);
    expect(step(transition(resume, { type: "stopped" }, 0))).toEqual({ do: "resume" });
    const takenBack = transition(resume, { type: "stop-wanted" }, 0);
    expect(step(transition(takenBack, { type: "stopped" }, 0))).toMatchObject({ do: "wait" });
  });

  it("a stopped session resumes for a queued call and for nothing else", () => {
    expect(step(stopped, 0, { queued: 1, running: 0 })).toEqual({ do: "resume" });
    expect(step(stopped)).toMatchObject({ do: "wait" });
    expect(step(transition(stopped, { type: "stop-wanted" }, 0))).toMatchObject({ do: "wait" });
  });

  it("extend that comes before the placement outlives it", () => {
    const extended = after({ type: "extend", timeouts: { idleMs: 5 } }, placed(), { type: "started" });
    expect(step(extended)).toEqual({ do: "wait", untilMs: 5 });
  });
});

describe("B41 [reap-active] timers", () => {
  const running = after(placed(), [{ type: "started" }, minutes(1)]);

  it("a command of 45 minutes doesn't make its session idle", () => {
    expect(step(running, minutes(46), { queued: 0, running: 1 })).toMatchObject({ do: "wait" });
    const ended = transition(running, { type: "activity" }, minutes(46));
    expect(step(ended, minutes(46))).toEqual({ do: "wait", untilMs: minutes(46 + 15) });
  });

  it("a session resumed after a week isn't idle a minute later", () => {
    const week = minutes(7 * 24 * 60 - 10);
    const resumed = transition(
      after(placed(), { type: "started" }, { type: "stopping" }, { type: "stopped" }, { type: "resuming" }),
      { type: "started" },
      week,
    );
    expect(step(resumed, week + minutes(1))).toMatchObject({ do: "wait" });
  });

  it("a clock that goes backwards only delays", () => {
    expect(step(running, -minutes(10))).toEqual({ do: "wait", untilMs: minutes(16) });
  });

  it("the lifetime ends a session in whatever state it is, also with calls running", () => {
    const end = defaultTimeouts.maxLifetimeMs;
    for (const lifecycle of [after(), after(placed()), running]) {
      expect(step(lifecycle, end, { queued: 1, running: 1 })).toEqual({
        do: "delete",
        reason: "max-lifetime",
      });
    }
  });
});

describe("calls", () => {
  const running = after(placed(), { type: "started" });

  it("are dispatched up to the limit, in a running session only", () => {
    expect(step(running, 0, { queued: 3, running: 1 })).toEqual({ do: "dispatch", calls: 1 });
    expect(step(running, 0, { queued: 3, running: 2 })).toMatchObject({ do: "wait" });
    expect(step(after(placed()), 0, { queued: 3, running: 0 })).toEqual({ do: "start" });
    const stop = transition(running, { type: "stop-wanted" }, 0);
    expect(step(stop, 0, { queued: 3, running: 0 })).toMatchObject({ do: "stop" });
  });

  it("stay queued while the host is unreachable, but for one that asks", () => {
    const silent = transition(running, { type: "unreachable" }, 5);
    expect(silent.unreachable).toEqual({ sinceMs: 5, before: "running" });
    expect(transition(silent, { type: "unreachable" }, 9).unreachable?.sinceMs).toBe(5);
    expect(step(silent, 9, { queued: 3, running: 1 })).toMatchObject({ do: "wait" });
    expect(step(silent, 9, { queued: 3, running: 0 })).toEqual({ do: "dispatch", calls: 1 });
    expect(transition(silent, { type: "reachable" }, 9)).toEqual(running);
  });
});

describe("a stop and a silent host", () => {
  const running = after(placed(), { type: "started" });
  const go = (lifecycle: Lifecycle, ...types: ("stopping" | "unreachable" | "reachable" | "stopped")[]) =>
    types.reduce((before, type) => transition(before, { type }, 1), lifecycle);

  it("a stop that begins while the host is silent is not undone when it answers", () => {
    expect(go(running, "unreachable", "stopping", "reachable").status).toBe("stopping");
    expect(go(running, "stopping", "unreachable", "reachable").status).toBe("stopping");
    expect(go(running, "stopping", "unreachable", "stopped")).toMatchObject({ status: "stopped" });
    expect(go(running, "stopping", "unreachable", "stopped").unreachable).toBeUndefined();
  });

  it("an unreachable session without calls goes on with what it did before", () => {
    expect(step(go(running, "stopping", "unreachable"))).toMatchObject({ do: "stop" });
    expect(step(go(running, "unreachable"), minutes(16))).toMatchObject({ do: "stop" });
  });

  it("a stop or a resume that can't be done now shows why and is tried again", () => {
    const unavailable = { code: "unavailable", message: "engine away" } as const;
    const stopFailed = transition(go(running, "stopping"), { type: "stop-failed", failure: unavailable }, 1);
    expect(stopFailed.failure).toEqual(unavailable);
    expect(step(stopFailed)).toMatchObject({ do: "stop" });
    const stopped = go(running, "stopping", "stopped");
    const resumeFailed = transition(
      transition(stopped, { type: "resuming" }, 1),
      { type: "resume-failed", failure: unavailable },
      1,
    );
    expect(resumeFailed).toMatchObject({ status: "stopped", failure: unavailable });
    expect(step(resumeFailed)).toEqual({ do: "resume" });
    const resumed = transition(transition(resumeFailed, { type: "resuming" }, 1), { type: "started" }, 1);
    expect(resumed.failure).toBeUndefined();
  });
});

describe("loss", () => {
  it("fails the session, or makes the next generation, as the spec says", () => {
    const lost = (onLost: "fail" | "recreate", host = false) =>
      transition(after(placed(onLost), { type: "started" }), { type: "lost", failure, host }, 1);
    expect(lost("fail")).toMatchObject({ status: "failed", failure, generation: 1 });
    expect(lost("recreate")).toMatchObject({ status: "starting", generation: 2, failure });
    const anew = lost("recreate", true);
    expect(step(anew)).toEqual({ do: "place" });
    expect(transition(anew, placed("recreate"), 2)).toMatchObject({ status: "starting", generation: 2 });
  });
});
