package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

const nothingLeft = "ps -eo args | grep -c '[s]leep 30[0-9]'"

func TestTimeoutEndsEverythingOfTheCall(t *testing.T) {
	box := newSandbox(t)
	host := box.connect()
	for number, script := range []string{
		"sleep 300",
		"setsid sleep 301 & wait",
		"python3 -c 'import os,time; os.fork() and os._exit(0); os.setsid(); os.fork() and os._exit(0); time.sleep(304)'; exec sleep 305",
		"env -i setsid sh -c '(trap \"\" TERM; exec sleep 301) & (trap \"\" TERM; sleep 302)' & trap '' TERM; while :; do sleep 303; done",
		"(ulimit -R 12345; exec env -i setsid sleep 301) & sleep 302",
		"sleep 300 & kill -STOP $!; kill -STOP $$",
	} {
		begun := time.Now()
		id := fmt.Sprint("c", number)
		stdout, stderr, end := host.call(box, command{id: id, script: "echo partial; echo warn >&2\n" + script, timeout: 500 * time.Millisecond})
		if stdout != "partial\n" || !strings.Contains(stderr, "warn\n") || outcome(end) != `{"kind":"timed-out","timeoutMs":500}` || end.Poisoned {
			t.Errorf("%s: %q %q %s", script, stdout, stderr, outcome(end))
		}
		if took := time.Since(begun); took > 10*time.Second {
			t.Errorf("%s took %v", script, took)
		}
		host.expect(box, command{id: id + " after", script: nothingLeft}, "0\n", exited(1))
	}
}

func TestKillConfirmsAndFences(t *testing.T) {
	box := newSandbox(t)
	host := box.connect()
	kill := func(id string, graceMs int) answer {
		return host.ask(object{"op": "kill", "callId": id, "graceMs": graceMs, "cause": "cancelCall"})
	}
	host.run(box, command{id: "running", script: "trap '' TERM; echo up; while :; do sleep 300; done"})
	if got := kill("running", 200); got.Type != "result" {
		t.Fatalf("%+v", got)
	}
	host.expect(box, command{id: "look", script: nothingLeft}, "0\n", exited(1))
	if _, got := host.follow("running", 0); got.End == nil || got.End.Outcome.By != "cancelCall" {
		t.Errorf("%+v", got)
	}
	kill("not yet claimed", 0)
	if _, _, end := host.call(box, command{id: "not yet claimed", script: "touch started"}); end.Outcome.Kind != "cancelled" {
		t.Errorf("a killed id started: %s", outcome(end))
	}
	if _, err := os.Lstat(box.workspace + "/started"); err == nil {
		t.Error("it had an effect")
	}
	host.expect(box, command{id: "done", script: "exit 4"}, "", exited(4))
	kill("done", 0)
	if _, got := host.follow("done", 0); outcome(got.End) != exited(4) {
		t.Errorf("a kill after the end changed it: %s", outcome(got.End))
	}
}

func TestOutputLimits(t *testing.T) {
	box := newSandbox(t, "--spool-bytes", "100000")
	host := box.connect()
	for id, script := range map[string]string{"goes on": "yes; sleep 300", "ends": "head -c 2000 /dev/zero"} {
		stdout, _, end := host.call(box, command{id: id, script: script, limit: 1000})
		if len(stdout) != 1000 || outcome(end) != `{"kind":"output-limit","stream":"stdout","limitBytes":1000}` {
			t.Errorf("%s: %d bytes, %s", id, len(stdout), outcome(end))
		}
	}
	_, _, end := host.call(box, command{id: "spool", script: "yes; sleep 300"})
	if end.Outcome.Error == nil || end.Outcome.Error.Code != "no-space" {
		t.Errorf("beyond the spool: %s", outcome(end))
	}
	if got := host.final(host.run(box, command{id: "spool", script: "yes; sleep 300"})); got.State != "attached" {
		t.Errorf("its output is kept from who asks again: %+v", got)
	}
	if got := host.final(host.run(box, command{id: "refused", script: "echo ok"})); got.Code != "no-space" {
		t.Errorf("a full spool took a call: %+v", got)
	}
	host.final(host.request(object{"op": "ack"}, []byte(`["spool"]`)))
	host.expect(box, command{id: "room again", script: "echo ok"}, "ok\n", exited(0))
}

func TestRestartKeepsAnswersAndLosesWhatRan(t *testing.T) {
	box := newSandbox(t)
	host := box.connect()
	host.expect(box, command{id: "ended", script: "echo kept; exit 3"}, "kept\n", exited(3))
	host.run(box, command{id: "running", script: "echo before; sleep 300"})
	waitFor(t, box, "before\n")
	epoch := host.hello["epoch"]
	box.restart()
	host = box.connect()
	if host.hello["epoch"] == epoch {
		t.Error("the epoch is the same")
	}
	if streams, got := host.follow("ended", 0); streams["stdout"] != "kept\n" || outcome(got.End) != exited(3) {
		t.Errorf("%q %+v", streams, got)
	}
	streams, got := host.follow("running", 0)
	if streams["stdout"] != "before\n" || got.End == nil || got.End.Outcome.Kind != "lost" || got.End.Totals.Stdout != 7 {
		t.Errorf("%q %+v", streams, got)
	}
	if got := host.final(host.run(box, command{id: "running", script: "echo before; sleep 300"})); got.State != "attached" {
		t.Errorf("a lost call started again: %+v", got)
	}
}

func TestAClaimWithoutAStartMayStart(t *testing.T) {
	box := newSandbox(t)
	request := command{id: "c", script: "echo ran"}
	box.connect().expect(box, request, "ran\n", exited(0))
	box.kill()
	// As if the guest had died right after the claim.
	names, err := filepath.Glob(box.spool + "/calls/*/*")
	must(t, err)
	for _, name := range names {
		if filepath.Base(name) != "claim.json" {
			must(t, os.Remove(name))
		}
	}
	box.start()
	host := box.connect()
	if _, got := host.follow("c", 0); got.Code != "not-found" {
		t.Errorf("%+v", got)
	}
	if listed := host.ask(object{"op": "calls"}).payload; !strings.Contains(listed, `"state":"claimed"`) {
		t.Errorf("%s", listed)
	}
	host.expect(box, request, "ran\n", exited(0))
}

func TestSigtermStopsInOrder(t *testing.T) {
	box := newSandbox(t)
	host := box.connect()
	started := host.run(box, command{id: "c", script: "trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.05; done"})
	host.final(started)
	waitFor(t, box, "up\n")
	must(t, box.process.Process.Signal(syscall.SIGTERM))
	if err := box.process.Wait(); err != nil {
		t.Fatalf("exit of the guest: %v", err)
	}
	box.start()
	streams, got := box.connect().follow("c", 0)
	if got.End == nil || outcome(got.End) != `{"kind":"cancelled","by":"stop"}` || !strings.HasSuffix(streams["stdout"], "bye\n") {
		t.Errorf("%q %+v", streams, got)
	}
}

func TestTheLongestTimeoutIsNoTimeout(t *testing.T) {
	box := newSandbox(t)
	box.connect().expect(box, command{id: "c", script: "sleep 0.2", timeoutMs: 1<<53 - 1}, "", exited(0))
}

func TestStopRefusesNewCalls(t *testing.T) {
	box := newSandbox(t)
	host := box.connect()
	host.run(box, command{id: "c", script: "sleep 300"})
	if got := host.ask(object{"op": "stop", "graceMs": 1000}); got.Type != "result" {
		t.Fatalf("%+v", got)
	}
	if _, got := host.follow("c", 0); got.End == nil || got.End.Outcome.By != "stop" {
		t.Errorf("%+v", got)
	}
	if got := host.final(host.run(box, command{id: "late", script: "echo late"})); got.Code != "closed" {
		t.Errorf("%+v", got)
	}
}
