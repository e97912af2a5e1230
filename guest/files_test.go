package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"holdfast/guest/internal/call"
	"holdfast/guest/internal/spool"
)

// write sends a whole file in parts.
func (h *host) write(box *sandbox, path, content string, more object) answer {
	h.t.Helper()
	head := object{"op": "write", "path": path, "roots": []string{box.workspace}}
	for name, value := range more {
		head[name] = value
	}
	id := h.request(head, nil)
	for rest := content; rest != ""; rest = rest[min(len(rest), 100_000):] {
		h.send(object{"type": "data", "id": id}, []byte(rest[:min(len(rest), 100_000)]))
	}
	sum := sha256.Sum256([]byte(content))
	h.send(object{"type": "end", "id": id, "sizeBytes": len(content), "sha256": hex.EncodeToString(sum[:])}, nil)
	return h.final(id)
}

func (h *host) file(box *sandbox, op, path string, more object) answer {
	h.t.Helper()
	head := object{"op": op, "path": path, "roots": []string{box.workspace}, "lengthBytes": 1 << 20, "maxEntries": 1000}
	for name, value := range more {
		head[name] = value
	}
	return h.ask(head)
}

const hostileTree = `
ln -s /etc/passwd leak; ln -s / rooted; ln -s /tmp/nothere dangling; ln -s .. up; ln -s loop loop
mkdir -p a/b ..foo private; echo content > a/b/file; ln -s a/b/file inner; ln -s "$PWD/a" absolute
mkfifo fifo; python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("sock")'
chmod 000 private; echo ro > readonly; chmod 444 readonly; ln a/b/file hard; echo dots > ..foo/x
`

func TestFilesStayBeneathTheRoots(t *testing.T) {
	box := newSandbox(t)
	host := box.connect()
	host.expect(box, command{id: "tree", script: hostileTree}, "", exited(0))
	must(t, os.Mkdir(box.workspace+"2", 0o777), os.WriteFile(box.workspace+"/foreign", []byte("root's"), 0o644))
	for path, code := range map[string]string{
		"leak": "denied", "rooted/etc/passwd": "denied", "../spool/guest.sock": "denied", "../../etc/passwd": "denied",
		"up/spool/guest.sock": "denied", "loop": "denied", "private/x": "denied",
		"fifo": "not-a-file", "sock": "not-a-file", "a": "not-a-file", "": "not-a-file", "inner/x": "not-a-file",
		"missing": "not-found", "a\x00b": "invalid-request", strings.Repeat("n", 300): "invalid-request",
	} {
		begun := time.Now()
		if got := host.file(box, "read", box.workspace+"/"+path, nil); got.Code != code || time.Since(begun) > 2*time.Second {
			t.Errorf("read %q: %+v", path, got)
		}
	}
	if got := host.file(box, "read", box.workspace+"2/x", nil); got.Code != "denied" {
		t.Errorf("a root's namesake: %+v", got)
	}
	for path, content := range map[string]string{
		"inner": "content\n", "absolute/b/file": "content\n", "a/../inner": "content\n", "..foo/x": "dots\n", "up/workspace/a/b/file": "content\n", "/a//./b/file": "content\n",
	} {
		if got := host.file(box, "read", box.workspace+"/"+path, nil); got.payload != content {
			t.Errorf("read %q: %+v", path, got)
		}
	}
	for path, code := range map[string]string{
		"leak": "denied", "rooted/tmp/new": "denied", "dangling": "denied", "readonly": "denied", "private/x": "denied",
		"foreign": "denied", "fifo": "not-a-file", "a": "not-a-file", "readonly/x": "not-a-file", "../spool/x": "denied",
	} {
		if got := host.write(box, box.workspace+"/"+path, "evil", nil); got.Code != code {
			t.Errorf("write %q: %+v", path, got)
		}
	}
	if got := host.file(box, "read", box.workspace+"/a/b/file", object{"offset": 3, "lengthBytes": 2}); got.payload != "te" {
		t.Errorf("range: %+v", got)
	}
}

func TestNobodySwapsADirectoryForALink(t *testing.T) {
	box := newSandbox(t)
	host := box.connect()
	outside := box.workspace + "2"
	must(t, os.Mkdir(outside, 0o777), os.Chmod(outside, 0o777))
	host.run(box, command{id: "swap", script: "mkdir real; while :; do mv -T real sw; mv -T sw real; ln -sfn " + outside + " sw; rm -f sw; done"})
	reached := 0
	for range 300 {
		if got := host.write(box, box.workspace+"/sw/file", "x", nil); got.Code == "" {
			reached++
		}
	}
	if names, err := os.ReadDir(outside); err != nil || len(names) > 0 {
		t.Errorf("written outside: %v %v", names, err)
	}
	if reached == 0 {
		t.Error("no write got through: the race was not run")
	}
}

func TestWritesAreAtomicAndTheUsersOwn(t *testing.T) {
	box := newSandbox(t)
	host := box.connect()
	path := box.workspace + "/new/dir/file"
	large := strings.Repeat("0123456789", 300_000)
	if got := host.write(box, path, large, object{"mode": 0o640}); !got.Created || got.SizeBytes != 3_000_000 {
		t.Fatalf("%+v", got)
	}
	info, err := os.Lstat(path)
	must(t, err)
	stat, _ := info.Sys().(*syscall.Stat_t)
	if info.Mode().Perm() != 0o640 || stat.Uid != 1000 {
		t.Errorf("%v of %d", info.Mode(), stat.Uid)
	}
	id := host.request(object{"op": "write", "path": path, "roots": []string{box.workspace}}, nil)
	host.send(object{"type": "data", "id": id}, []byte("half"))
	host.send(object{"type": "end", "id": id, "sizeBytes": 5, "sha256": "00"}, nil)
	if got := host.final(id); got.Code != "invalid-request" {
		t.Errorf("%+v", got)
	}
	aborted := box.connect()
	id = aborted.request(object{"op": "write", "path": path, "roots": []string{box.workspace}}, nil)
	aborted.send(object{"type": "data", "id": id}, []byte("half"))
	aborted.next(id)
	must(t, aborted.conn.Close())
	if got := host.write(box, path, "short", nil); got.Created {
		t.Errorf("%+v", got)
	}
	if got := host.file(box, "stat", path, nil); got.Stat.SizeBytes != 5 || got.Stat.Mode != 0o640 {
		t.Errorf("the mode is not kept: %+v", got.Stat)
	}
	for until := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		if names, err := os.ReadDir(filepath.Dir(path)); err == nil && len(names) == 1 {
			break
		}
		if time.Now().After(until) {
			t.Fatal("a scrap is left")
		}
	}
}

func TestNamesAreBytes(t *testing.T) {
	box := newSandbox(t)
	host := box.connect()
	names := []string{"a\nb", " lead", "-rf", "\xff\xfe", "*", strings.Repeat("n", 255)}
	for _, name := range names {
		must(t, os.WriteFile(filepath.Join(box.workspace, name), []byte("x"), 0o644))
	}
	got := host.file(box, "list", box.workspace, nil)
	for _, name := range names {
		if !strings.Contains("\x00"+got.payload, "\x00f1 "+name+"\x00") {
			t.Errorf("%q is not in %q", name, got.payload)
		}
	}
	if got := host.file(box, "list", box.workspace, object{"maxEntries": 4}); !got.Truncated || strings.Count(got.payload, "\x00") != 4 {
		t.Errorf("%+v", got)
	}
	raw := object{"pathBase64": "L3g=", "path": ""}
	if got := host.file(box, "read", "", raw); got.Code != "denied" {
		t.Errorf("%+v", got)
	}
}

func TestRemoveRenameMkdirWalk(t *testing.T) {
	box := newSandbox(t)
	host := box.connect()
	outside := box.workspace + "2"
	must(t, os.MkdirAll(outside+"/kept", 0o777), os.Chmod(outside, 0o777))
	at := func(path string) string { return box.workspace + "/" + path }
	if got := host.file(box, "mkdir", at("x/y/z"), nil); !got.Created {
		t.Errorf("%+v", got)
	}
	host.expect(box, command{id: "link", script: "ln -s " + outside + " x/y/out; mkdir -p .git/objects"}, "", exited(0))
	if got := host.file(box, "walk", box.workspace, object{"prune": []string{".git"}}); strings.Contains(got.payload, "objects") || !strings.Contains(got.payload, " x/y/out\x00") || strings.Contains(got.payload, "kept") {
		t.Errorf("%q", got.payload)
	}
	if got := host.file(box, "rename", at("x"), object{"to": outside + "/x"}); got.Code != "denied" {
		t.Errorf("%+v", got)
	}
	if got := host.file(box, "rename", at("x"), object{"to": at("moved")}); got.Type != "result" {
		t.Errorf("%+v", got)
	}
	if got := host.file(box, "remove", at("moved"), nil); got.Code != "not-a-file" {
		t.Errorf("%+v", got)
	}
	if got := host.file(box, "remove", at("moved"), object{"recursive": true}); !got.Removed {
		t.Errorf("%+v", got)
	}
	if _, err := os.Lstat(outside + "/kept"); err != nil {
		t.Error("removed through a link")
	}
	if got := host.file(box, "remove", box.workspace, object{"recursive": true}); got.Code != "denied" {
		t.Errorf("%+v", got)
	}
	if got := host.file(box, "remove", at("none"), object{"force": true}); got.Type != "result" || got.Removed {
		t.Errorf("%+v", got)
	}
}

func TestRecordedWritesHappenOnce(t *testing.T) {
	box := newSandbox(t)
	host := box.connect()
	path, record := box.workspace+"/file", object{"record": object{"callId": "w", "requestHash": "h", "result": object{"diff": "d"}}}
	if got := host.write(box, box.workspace+"/no\x00name", "x", record); got.Code != "invalid-request" {
		t.Errorf("%+v", got)
	}
	for attempt, want := range []string{"one", "two"} {
		if got := host.write(box, path, want, record); !got.Created || got.Replayed != (attempt == 1) {
			t.Errorf("attempt %d: %+v", attempt, got)
		}
	}
	box.restart()
	host = box.connect()
	got := host.ask(object{"op": "recorded", "callId": "w", "requestHash": "h"})
	if got.Record == nil || !got.Record.Created || got.Record.SizeBytes != 3 || string(got.Record.Result) != `{"diff":"d"}` {
		t.Errorf("%+v", got.Record)
	}
	if got := host.ask(object{"op": "recorded", "callId": "w", "requestHash": "other"}); got.Code != "conflict" {
		t.Errorf("%+v", got)
	}
	if got := host.final(host.run(box, command{id: "w", script: "echo"})); got.Code != "conflict" {
		t.Errorf("a command under a write's id: %+v", got)
	}
	if got := host.file(box, "read", path, nil); got.payload != "one" {
		t.Errorf("%q", got.payload)
	}
}

// A guest that died between intent and record left either the scrap (nothing happened) or the file.
func TestAnIntentIsSettledByTheScrap(t *testing.T) {
	box := newSandbox(t)
	box.kill()
	store, err := spool.Open(box.spool, 1<<20)
	must(t, err)
	for _, id := range []string{"before", "after"} {
		entry, err := store.Claim(spool.Claim{CallID: id, Kind: spool.Write, RequestHash: "h"})
		must(t, err)
		scrap := fmt.Sprintf("%s/.holdfast-%s", box.workspace, id)
		must(t, entry.WriteIntent(call.Intent{Record: call.Record{SizeBytes: 7, Result: json.RawMessage(`1`)}, Scrap: scrap}))
		if id == "before" {
			must(t, os.WriteFile(scrap, []byte("content"), 0o600), os.Chown(scrap, 1000, 1000))
		}
	}
	box.start()
	host := box.connect()
	if got := host.ask(object{"op": "recorded", "callId": "after", "requestHash": "h"}); got.Record == nil || got.Record.SizeBytes != 7 {
		t.Errorf("the write happened: %+v", got)
	}
	if got := host.ask(object{"op": "recorded", "callId": "before", "requestHash": "h"}); got.Record != nil {
		t.Errorf("the write did not happen: %+v", got.Record)
	}
	if _, err := os.Lstat(box.workspace + "/.holdfast-before"); !os.IsNotExist(err) {
		t.Errorf("the scrap is still there: %v", err)
	}
	record := object{"record": object{"callId": "before", "requestHash": "h"}}
	if got := host.write(box, box.workspace+"/file", "content", record); got.Replayed || !got.Created {
		t.Errorf("%+v", got)
	}
}
