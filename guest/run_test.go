package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

func TestOutcomesAreTheCommandsOwn(t *testing.T) {
	box := newSandbox(t)
	host := box.connect()
	for number, one := range []struct{ script, stdout, outcome string }{
		{"echo one; echo two >/dev/stdout; echo three", "one\ntwo\nthree\n", exited(0)},
		{"kill -9 $$", "", `{"kind":"signaled","exitCode":137,"signal":"SIGKILL"}`},
		{"kill -INT $$", "", `{"kind":"signaled","exitCode":130,"signal":"SIGINT"}`},
		{"kill -PIPE $$", "", `{"kind":"signaled","exitCode":141,"signal":"SIGPIPE"}`},
		{"exit 124", "", exited(124)},
		{"exit 137", "", exited(137)},
		{"cat; read x; echo rc=$?", "rc=1\n", exited(0)},
		{"no-such-command 2>/dev/null", "", exited(127)},
		{"cd /proc/self/fd; echo *", "0 1 2 3\n", exited(0)},
		{"id -u; id -g; umask; nice; grep CapEff /proc/self/status", "1000\n1000\n0022\n5\nCapEff:\t0000000000000000\n", exited(0)},
		{"(sleep 0.2; exit 3) & wait $!", "", exited(3)},
	} {
		host.expect(box, command{id: fmt.Sprint("c", number), script: one.script}, one.stdout, one.outcome)
	}
}

func TestScriptsAndVariablesArriveByteForByte(t *testing.T) {
	box := newSandbox(t)
	host := box.connect()
	all := ""
	for value := 1; value < 256; value++ {
		if value != '\n' {
			all += string([]byte{byte(value)})
		}
	}
	host.expect(box, command{id: "bytes", script: "cat <<'EOF'\n" + all + "\nEOF\n"}, all+"\n", exited(0))
	host.expect(box, command{id: "long", script: "x='" + strings.Repeat("y", 200_000) + "'; echo ${#x}"}, "200000\n", exited(0))
	env := "PATH=/nope\x00HOME=/nope\x00BASH_ENV=/x\x00GODEBUG=x\x00LINES2=a\nb\x00"
	script := "/usr/bin/env -0 | /usr/bin/sort -z | /usr/bin/tr '\\0' '|'"
	stdout, _, _ := host.call(box, command{id: "env", script: script, env: env})
	for _, variable := range []string{"PATH=/nope|", "HOME=/nope|", "BASH_ENV=/x|", "GODEBUG=x|", "LINES2=a\nb|"} {
		if !strings.Contains(stdout, variable) {
			t.Errorf("%q is not in %q", variable, stdout)
		}
	}
	if strings.Contains(stdout, "GOGC") {
		t.Error("the trampoline's own variables reached the command")
	}
}

func TestRefusalsComeBeforeTheClaim(t *testing.T) {
	box := newSandbox(t)
	host := box.connect()
	for name, one := range map[string]struct {
		command
		code string
	}{
		"NUL":            {command{script: "echo \x00"}, "invalid-request"},
		"relative cwd":   {command{script: "pwd", cwd: "x"}, "invalid-request"},
		"large variable": {command{script: "pwd", env: "X=" + strings.Repeat("y", 200_000) + "\x00"}, "too-large"},
	} {
		one.id = name
		if got := host.final(host.run(box, one.command)); got.Code != one.code {
			t.Errorf("%s: %+v", name, got)
		}
		if _, got := host.follow(name, 0); got.Code != "not-found" {
			t.Errorf("%s left a claim: %+v", name, got)
		}
	}
}

func TestWhatCannotStartIsRecorded(t *testing.T) {
	box := newSandbox(t)
	host := box.connect()
	request := command{id: "c", script: "pwd", cwd: "/no/such/place"}
	if got := host.final(host.run(box, request)); got.Code != "cannot-start" || !strings.Contains(got.Message, request.cwd) {
		t.Fatalf("%+v", got)
	}
	must(t, os.MkdirAll(box.workspace+"/later", 0o755))
	if got := host.final(host.run(box, request)); got.Code != "cannot-start" || !strings.Contains(got.Message, request.cwd) {
		t.Fatalf("%+v", got)
	}
	if _, got := host.follow("c", 0); got.End == nil || got.End.Outcome.Error == nil || got.End.Outcome.Error.Code != "cannot-start" {
		t.Fatalf("%+v", got)
	}
}

func TestAnIdRunsOnce(t *testing.T) {
	box := newSandbox(t)
	first, second := box.connect(), box.connect()
	request := command{id: "c", script: "echo x >> log; sleep 0.5; cat log"}
	if got := first.final(first.run(box, request)); got.State != "started" {
		t.Errorf("first run: %+v", got)
	}
	if got := second.final(second.run(box, request)); got.State != "attached" {
		t.Errorf("second run: %+v", got)
	}
	for _, host := range []*host{first, second} {
		if streams, got := host.follow("c", 0); streams["stdout"] != "x\n" || got.End == nil {
			t.Errorf("%q %+v", streams, got)
		}
	}
	if streams, _ := second.follow("c", 1); streams["stdout"] != "\n" {
		t.Errorf("from offset 1: %q", streams)
	}
	if got := second.final(second.run(box, command{id: "c", script: "other"})); got.Code != "conflict" {
		t.Errorf("another script: %+v", got)
	}
	if got := second.final(second.request(object{"op": "ack"}, []byte(`["c","unknown"]`))); got.Type != "result" {
		t.Errorf("ack: %+v", got)
	}
	for range 2 {
		if got := second.final(second.run(box, request)); got.State != "attached" {
			t.Errorf("after the acknowledgement: %+v", got)
		}
		if got := second.final(second.run(box, command{id: "c", script: "other"})); got.Code != "conflict" {
			t.Errorf("another script after the acknowledgement: %+v", got)
		}
		if _, got := second.follow("c", 0); got.Code != "closed" {
			t.Errorf("following after the acknowledgement: %+v", got)
		}
		box.restart()
		second = box.connect()
	}
	if got := second.final(second.run(box, command{id: "later", script: "cat log"})); got.State != "started" {
		t.Errorf("%+v", got)
	}
	if streams, _ := second.follow("later", 0); streams["stdout"] != "x\n" {
		t.Errorf("the command ran again: %q", streams["stdout"])
	}
}

func TestOutputOfTheMainProcessIsExact(t *testing.T) {
	box := newSandbox(t)
	host := box.connect()
	for round := range 30 {
		stdout, _, end := host.call(box, command{id: fmt.Sprint("c", round),
			script: "(while :; do echo tick; done) & head -c 300000 /dev/zero | tr '\\0' z; echo END; kill %1"})
		if got := strings.ReplaceAll(stdout, "tick\n", ""); !strings.Contains(stdout, "END\n") || strings.Count(got, "z") != 300_000 {
			t.Fatalf("round %d: %d bytes, %s", round, len(stdout), outcome(end))
		}
		if end.Totals.Stdout != int64(len(stdout)) {
			t.Fatalf("round %d: %d announced, %d delivered", round, end.Totals.Stdout, len(stdout))
		}
	}
}

func TestBackgroundDoesNotHoldTheCallAndDoesNotLeak(t *testing.T) {
	box := newSandbox(t)
	host := box.connect()
	for number, script := range []string{
		"sleep 600 & echo done",
		"sleep 600 </dev/null >/dev/null & echo done",
		"sleep 600 </dev/null >/dev/null 2>&1 & echo done",
		"(while :; do echo tick; sleep .05; done) & echo done",
	} {
		id, begun := fmt.Sprint("c", number), time.Now()
		stdout, _, end := host.call(box, command{id: id, script: script})
		if !strings.Contains(stdout, "done\n") || outcome(end) != exited(0) || time.Since(begun) > 10*time.Second {
			t.Errorf("%s: %q %s", script, stdout, outcome(end))
		}
		if len(end.Background) == 0 {
			t.Errorf("%s: nothing listed", script)
		}
		host.expect(box, command{id: id + " after", script: "sleep 0.2; echo quiet"}, "quiet\n", exited(0))
		if listed := host.ask(object{"op": "calls"}).payload; !strings.Contains(listed, `"pid"`) {
			t.Errorf("%s: not in the list of calls: %s", script, listed)
		}
		if got := host.ask(object{"op": "kill", "callId": id, "graceMs": 100, "cause": "stop"}); got.Type != "result" {
			t.Errorf("%s: %+v", script, got)
		}
		if listed := host.ask(object{"op": "calls"}).payload; strings.Contains(listed, `"pid"`) {
			t.Errorf("%s: still there: %s", script, listed)
		}
	}
}

func TestZombiesAreReaped(t *testing.T) {
	box := newSandbox(t)
	box.connect().expect(box, command{id: "c",
		script: "for i in $(seq 100); do (sleep .1 &); done; sleep 1; ps -eo stat= | grep -c '^Z'"}, "0\n", exited(1))
}
