package process

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"holdfast/guest/internal/fault"
	"holdfast/guest/internal/sys"
)

// Descriptors of the trampoline. Its own 0, 1 and 2 are /dev/null: what a dying runtime prints is no output of the
// command. Only the script's is left open for the shell.
const (
	scriptFd = 3
	goFd     = 4
	statusFd = 5
	orderFd  = 6
	stdoutFd = 7
	stderrFd = 8
)

// reached is written right before exec: an empty status means that the trampoline died on its way, at the limit of
// processes for example.
const reached = '!'

// shellLine reads the script as a whole and closes its descriptor before the first command. The script is no
// argument (128 KiB is the most, and every user would see it) and no file in the sandbox.
const shellLine = `eval "exec 3<&-; $(</dev/fd/3)"`

// commandOomScore lets the kernel end commands long before the guest.
const commandOomScore = "500"

// commandNice leaves the guest the processor when a command fills it with hundreds of processes: ending them takes
// longer than it may otherwise. Among themselves commands are equal.
const commandNice = 5

var shells = []string{"/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash"}

// order is what the guest tells its trampoline. It travels in a sealed file: as environment it would steer the
// trampoline's own runtime.
type order struct {
	Cwd            string   `json:"cwd"`
	Env            []string `json:"env"`
	Token          uint64   `json:"token"`
	KeepPrivileges bool     `json:"keepPrivileges"`
}

// Trampoline is the child between guest and shell: it marks itself, waits until its start is on record, and
// becomes the shell. It returns only when that failed, with the exit code.
func Trampoline() int {
	failure := leap()
	content, err := json.Marshal(failure)
	if err == nil {
		_, err = os.NewFile(statusFd, "status").Write(content)
	}
	if err != nil {
		return 71
	}
	return 70
}

func leap() *fault.Fault {
	// Privileges and niceness are a thread's own: the one that drops them has to be the one that becomes the shell.
	runtime.LockOSThread()
	for fd := goFd; fd <= stderrFd; fd++ {
		syscall.CloseOnExec(fd)
	}
	var task order
	if err := json.NewDecoder(os.NewFile(orderFd, "order")).Decode(&task); err != nil {
		return fault.New(fault.Internal, "read order: %v", err)
	}
	// Best effort: a guest that is not dumpable here only loses its advantage when memory runs out.
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte(commandOomScore), 0)
	if err := sys.SetToken(task.Token); err != nil {
		return fault.New(fault.Internal, "mark process: %v", err)
	}
	if !task.KeepPrivileges {
		if err := sys.DropPrivileges(); err != nil {
			return fault.New(fault.Internal, "drop privileges: %v", err)
		}
	}
	// Best effort, like the score.
	_ = syscall.Setpriority(syscall.PRIO_PROCESS, 0, commandNice)
	syscall.Umask(0o022)
	if err := os.Chdir(task.Cwd); err != nil {
		return cannotEnter(task.Cwd, err)
	}
	shell, failure := findShell()
	if failure != nil {
		return failure
	}
	if _, err := io.ReadFull(os.NewFile(goFd, "go"), make([]byte, 1)); err != nil {
		return fault.New(fault.Internal, "the guest ended before the start: %v", err)
	}
	for fd, source := range map[int]int{1: stdoutFd, 2: stderrFd} {
		if err := syscall.Dup3(source, fd, 0); err != nil {
			return fault.New(fault.Internal, "set up output: %v", err)
		}
	}
	if _, err := syscall.Write(statusFd, []byte{reached}); err != nil {
		return fault.New(fault.Internal, "report the start: %v", err)
	}
	err := syscall.Exec(shell, []string{"bash", "-c", shellLine, "bash"}, task.Env)
	return fault.New(fault.CannotStart, "start %s: %v", shell, err)
}

func cannotEnter(cwd string, err error) *fault.Fault {
	var errno syscall.Errno
	reason := err.Error()
	if errors.As(err, &errno) {
		reason = errno.Error()
	}
	return fault.New(fault.CannotStart, "working directory %s: %s", strconv.Quote(cwd), reason).
		OnField("cwd").WithHint("Make the directory first, or name one that exists.")
}

func findShell() (string, *fault.Fault) {
	for _, shell := range shells {
		if info, err := os.Stat(shell); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0 {
			return shell, nil
		}
	}
	return "", fault.New(fault.CannotStart, "no bash in the sandbox (looked for %s)", strings.Join(shells, ", ")).
		WithHint("Use a template whose image has bash.")
}

// readStatus says why the shell did not start, nil when it did.
func readStatus(content []byte) *fault.Fault {
	if len(content) == 0 {
		return fault.New(fault.CannotStart, "the command's first process died before its start").
			WithHint("The sandbox is probably at its limit of processes or memory; end what runs in it.")
	}
	if content = bytes.TrimPrefix(content, []byte{reached}); len(content) == 0 {
		return nil
	}
	failure := &fault.Fault{}
	if err := json.Unmarshal(content, failure); err != nil || failure.Code == "" {
		return fault.New(fault.Internal, "the command's first process said %s", strconv.Quote(fmt.Sprintf("%.200s", content)))
	}
	return failure
}
