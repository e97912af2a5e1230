package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"holdfast/guest/internal/call"
	"holdfast/guest/internal/frame"
	"holdfast/guest/internal/spool"
)

// patience is for machines that are busy with other things.
const patience = 20 * time.Second

// TestMain lets the test binary be the guest: in a process and a mount namespace of its own, as PID 1.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "isolated":
			os.Exit(isolated(os.Args[2:]))
		case "exec":
			os.Exit(dispatch(os.Args[1:]))
		}
	}
	os.Exit(m.Run())
}

func isolated(arguments []string) int {
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return exitInternal
	}
	if err := syscall.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return exitInternal
	}
	return dispatch(arguments)
}

// sandbox is a running guest with a workspace of the session user (uid 1000).
type sandbox struct {
	t         *testing.T
	spool     string
	workspace string
	arguments []string
	process   *exec.Cmd
}

func newSandbox(t *testing.T, arguments ...string) *sandbox {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: the guest runs commands as another user")
	}
	base, err := os.MkdirTemp("", "guest-test-")
	if err != nil {
		t.Fatal(err)
	}
	box := &sandbox{t: t, spool: filepath.Join(base, "spool"), workspace: filepath.Join(base, "workspace"), arguments: arguments}
	t.Cleanup(func() { box.kill(); _ = os.RemoveAll(base) })
	must(t, os.Chmod(base, 0o755), os.Mkdir(box.workspace, 0o755), os.Chown(box.workspace, 1000, 1000))
	box.start()
	return box
}

func must(t *testing.T, problems ...error) {
	t.Helper()
	for _, problem := range problems {
		if problem != nil {
			t.Fatal(problem)
		}
	}
}

func (b *sandbox) start() {
	b.t.Helper()
	b.process = exec.Command("/proc/self/exe", append([]string{"isolated", "supervise", "--spool", b.spool}, b.arguments...)...)
	b.process.Stderr = os.Stderr
	// With the race detector on, a race in the guest ends it, and with that the test.
	b.process.Env = append(os.Environ(), "GORACE=halt_on_error=1")
	b.process.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS}
	must(b.t, b.process.Start())
}

func (b *sandbox) kill() {
	_ = b.process.Process.Kill()
	_ = b.process.Wait()
}

// restart is the death of PID 1 and everything with it, and a new start on the same spool.
func (b *sandbox) restart() {
	b.t.Helper()
	b.kill()
	b.start()
}

// host is the other end of one channel.
type host struct {
	t      *testing.T
	conn   net.Conn
	mutex  sync.Mutex
	last   int64
	inbox  map[int64]chan *frame.Frame
	hello  map[string]any
	closed chan struct{}
	fatal  string
}

func (b *sandbox) connect() *host {
	b.t.Helper()
	var conn net.Conn
	for until := time.Now().Add(patience); ; {
		var err error
		if conn, err = net.Dial("unix", spool.Socket(b.spool)); err == nil {
			break
		}
		if time.Now().After(until) {
			b.t.Fatal(err)
		}
		time.Sleep(5 * time.Millisecond)
	}
	h := &host{t: b.t, conn: conn, inbox: map[int64]chan *frame.Frame{}, closed: make(chan struct{})}
	b.t.Cleanup(func() { _ = conn.Close() })
	reader := frame.NewReader(conn)
	first, err := reader.Next()
	must(b.t, err)
	must(b.t, first.Decode(&h.hello))
	go h.listen(reader)
	return h
}

func (h *host) listen(reader *frame.Reader) {
	defer close(h.closed)
	for {
		next, err := reader.Next()
		if err != nil {
			return
		}
		h.mutex.Lock()
		if next.Type == "fatal" {
			h.fatal = string(next.Line)
		}
		target := h.inbox[next.ID]
		h.mutex.Unlock()
		if target != nil {
			target <- next
		}
	}
}

type object map[string]any

func (h *host) send(head object, payload []byte) {
	if len(payload) > 0 {
		head["bytes"] = len(payload)
	}
	line, err := json.Marshal(head)
	must(h.t, err)
	h.mutex.Lock()
	defer h.mutex.Unlock()
	// An error is the end of the channel: the test sees that where it waits for an answer.
	_, _ = h.conn.Write(append(append(line, '\n'), payload...))
}

func (h *host) request(head object, payload []byte) int64 {
	h.mutex.Lock()
	h.last++
	id := h.last
	h.inbox[id] = make(chan *frame.Frame, 10_000)
	h.mutex.Unlock()
	head["id"] = id
	h.send(head, payload)
	return id
}

func (h *host) next(id int64) *frame.Frame {
	h.t.Helper()
	h.mutex.Lock()
	inbox := h.inbox[id]
	h.mutex.Unlock()
	select {
	case next := <-inbox:
		return next
	case <-h.closed:
		h.t.Fatalf("the channel closed: %s", h.fatal)
	case <-time.After(patience):
		h.t.Fatalf("no answer to request %d", id)
	}
	return nil
}

// answer is a final frame, with the payload of the data frames before it.
type answer struct {
	Type, Code, State, Message string
	Created, Removed, Replayed bool
	Truncated                  bool
	SizeBytes                  int64
	Stat                       *struct {
		Type      string
		SizeBytes int64
		Mode      uint32
	}
	Record  *call.Record
	End     *call.End
	payload string
}

func (h *host) final(id int64) answer {
	h.t.Helper()
	content := ""
	for {
		next := h.next(id)
		content += string(next.Payload)
		if next.Type == "data" || next.Type == "credit" {
			continue
		}
		result := answer{}
		must(h.t, next.Decode(&result))
		result.payload = content
		return result
	}
}

func (h *host) ask(head object) answer {
	h.t.Helper()
	return h.final(h.request(head, nil))
}

// command is a run request.
type command struct {
	id, script, cwd string
	env             string
	timeout         time.Duration
	timeoutMs       int64
	limit           int64
}

func (h *host) run(box *sandbox, c command) int64 {
	if c.cwd == "" {
		c.cwd = box.workspace
	}
	if c.timeout == 0 {
		c.timeout = time.Minute
	}
	if c.timeoutMs == 0 {
		c.timeoutMs = c.timeout.Milliseconds()
	}
	if c.limit == 0 {
		c.limit = 1 << 30
	}
	sum := sha256.Sum256([]byte(c.script))
	return h.request(object{"op": "run", "callId": c.id, "cwd": c.cwd, "timeoutMs": c.timeoutMs,
		"outputLimitBytes": c.limit, "envBytes": len(c.env), "sha256": hex.EncodeToString(sum[:])}, []byte(c.env+c.script))
}

// follow takes everything, granting credit as it goes.
func (h *host) follow(id string, stdout int64) (streams map[string]string, last answer) {
	h.t.Helper()
	request := h.request(object{"op": "follow", "callId": id, "stdout": stdout, "stderr": 0, "credit": 1 << 20}, nil)
	streams = map[string]string{}
	for {
		next := h.next(request)
		if next.Type != "output" {
			must(h.t, next.Decode(&last))
			return streams, last
		}
		var output struct{ Stream string }
		must(h.t, next.Decode(&output))
		streams[output.Stream] += string(next.Payload)
		h.send(object{"type": "credit", "id": request, "credit": len(next.Payload)}, nil)
	}
}

// call runs and follows in one go, and fails the test when the call does not get to an end.
func (h *host) call(box *sandbox, c command) (stdout, stderr string, end *call.End) {
	h.t.Helper()
	h.run(box, c)
	streams, last := h.follow(c.id, 0)
	if last.End == nil {
		h.t.Fatalf("%s: %+v", c.script, last)
	}
	return streams["stdout"], streams["stderr"], last.End
}

func outcome(end *call.End) string {
	content, err := json.Marshal(end.Outcome)
	if err != nil {
		return err.Error()
	}
	return string(content)
}

func (h *host) expect(box *sandbox, c command, stdout, wanted string) *call.End {
	h.t.Helper()
	got, stderr, end := h.call(box, c)
	if got != stdout || outcome(end) != wanted {
		h.t.Errorf("%s:\n got %q %s (stderr %q)\nwant %q %s", c.script, got, outcome(end), stderr, stdout, wanted)
	}
	return end
}

func exited(code int) string { return fmt.Sprintf(`{"kind":"exited","exitCode":%d}`, code) }

// waitFor returns when a call has printed exactly this.
func waitFor(t *testing.T, box *sandbox, output string) {
	t.Helper()
	for until := time.Now().Add(patience); time.Now().Before(until); time.Sleep(10 * time.Millisecond) {
		names, err := filepath.Glob(box.spool + "/calls/*/stdout")
		must(t, err)
		for _, name := range names {
			if found, err := os.ReadFile(name); err == nil && string(found) == output {
				return
			}
		}
	}
	t.Fatalf("nothing printed %q", output)
}
