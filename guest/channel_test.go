package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"holdfast/guest/internal/frame"
)

func TestHostileFramesEndTheirChannelAlone(t *testing.T) {
	box := newSandbox(t)
	other := box.connect()
	for _, bytes := range []string{
		"GET / HTTP/1.1\r\n",
		`{"id":0,"op":"calls"}` + "\n",
		`{"id":1,"op":"nope"}` + "\n",
		`{"type":"credit","id":9,"credit":1}` + "\n",
		`{"id":1,"op":"run","bytes":-5}` + "\n",
		`{"id":1,"op":"follow","callId":"x","credit":-1}` + "\n",
		`{"id":1,"op":"ack","bytes":2}` + "\nxx",
		`{"id":1,"op":"run","envBytes":9,"bytes":2}` + "\nxx",
		`{"id":2,"op":"calls"}` + "\n" + `{"id":2,"op":"calls"}` + "\n",
		`{"id":1,"op":"write","path":"` + box.workspace + `/f","roots":["` + box.workspace + `"]}` + "\n" +
			`{"type":"data","id":1,"bytes":300000}` + "\n" + strings.Repeat("x", 300_000),
	} {
		host := box.connect()
		_, _ = io.WriteString(host.conn, bytes)
		select {
		case <-host.closed:
		case <-time.After(patience):
			t.Errorf("%.40q did not end the channel", bytes)
		}
		if !strings.Contains(host.fatal, `"invalid-request"`) {
			t.Errorf("%.40q: no reason, %q", bytes, host.fatal)
		}
	}
	other.expect(box, command{id: "c", script: "echo ok"}, "ok\n", exited(0))
}

func TestATruncatedRequestDoesNothing(t *testing.T) {
	box := newSandbox(t)
	host := box.connect()
	_, err := io.WriteString(host.conn, `{"id":1,"op":"run","callId":"c","cwd":"/","timeoutMs":1000,"outputLimitBytes":1000,"envBytes":0,"sha256":"x","bytes":100}`+"\ntouch "+box.workspace+"/ran; echo")
	must(t, err, host.conn.Close())
	host = box.connect()
	if _, got := host.follow("c", 0); got.Code != "not-found" {
		t.Errorf("%+v", got)
	}
	wrong := object{"op": "run", "callId": "c", "cwd": "/", "timeoutMs": 1000, "outputLimitBytes": 1000, "envBytes": 0, "sha256": "00"}
	if got := host.final(host.request(wrong, []byte("touch "+box.workspace+"/ran"))); got.Code != "invalid-request" {
		t.Errorf("a script with another hash: %+v", got)
	}
	if _, err := os.Lstat(box.workspace + "/ran"); err == nil {
		t.Error("part of a script ran")
	}
}

func TestASlowFollowerStopsNobodyElse(t *testing.T) {
	box := newSandbox(t)
	host := box.connect()
	host.run(box, command{id: "big", script: "head -c 5000000 /dev/zero"})
	slow := host.request(object{"op": "follow", "callId": "big", "stdout": 0, "stderr": 0, "credit": 1000}, nil)
	if first := host.next(slow); len(first.Payload) > 1000 {
		t.Errorf("%d bytes on a credit of 1000", len(first.Payload))
	}
	for number := range 5 {
		host.expect(box, command{id: fmt.Sprint("c", number), script: "echo ok"}, "ok\n", exited(0))
	}
	if streams, _ := host.follow("big", 0); len(streams["stdout"]) != 5_000_000 {
		t.Errorf("another follow got %d bytes", len(streams["stdout"]))
	}
	host.send(object{"type": "abort", "id": slow}, nil)
	for {
		if next := host.next(slow); next.Type == "error" {
			break
		} else if next.Type != "output" {
			t.Fatalf("%s", next.Line)
		}
	}
}

func TestAStuckChannelStopsNobodyElse(t *testing.T) {
	box := newSandbox(t)
	stuck := box.connect()
	// Nobody reads on this connection any more: the test's reader is given an inbox that is never emptied.
	stuck.mutex.Lock()
	stuck.inbox[1] = make(chan *frame.Frame)
	stuck.mutex.Unlock()
	_, err := io.WriteString(stuck.conn, `{"id":1,"op":"calls"}`+"\n"+`{"id":2,"op":"calls"}`+"\n")
	must(t, err)
	host := box.connect()
	host.run(box, command{id: "big", script: "head -c 3000000 /dev/zero"})
	_, err = io.WriteString(stuck.conn, `{"id":3,"op":"follow","callId":"big","stdout":0,"stderr":0,"credit":100000000}`+"\n")
	must(t, err)
	if streams, _ := host.follow("big", 0); len(streams["stdout"]) != 3_000_000 {
		t.Errorf("%d bytes", len(streams["stdout"]))
	}
}

func TestTheSpoolIsOutOfReach(t *testing.T) {
	box := newSandbox(t)
	host := box.connect()
	host.expect(box, command{id: "secret", script: "echo s3cr3t"}, "s3cr3t\n", exited(0))
	stdout, _, _ := host.call(box, command{id: "thief", script: "cat " + box.spool + "/calls/*/*; ls " + box.spool +
		"; ls /proc/1/fd /proc/1/cwd; cat /proc/1/environ; echo x >" + box.spool + "/guest.sock; kill -9 1; kill -9 $PPID"})
	if stdout != "" {
		t.Errorf("%q", stdout)
	}
	host.expect(box, command{id: "next", script: "echo ok"}, "ok\n", exited(0))
}

func TestKillingEverythingKillsNobodyElse(t *testing.T) {
	box := newSandbox(t)
	host := box.connect()
	if _, _, end := host.call(box, command{id: "c", script: "kill -9 -1; exit 5"}); end.Outcome.Kind == "error" {
		t.Errorf("%s", outcome(end))
	}
	host.expect(box, command{id: "next", script: "echo ok"}, "ok\n", exited(0))
}
