// Package process starts commands, reaps what ends, and finds and ends all that a command left.
package process

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"syscall"
	"time"

	"holdfast/guest/internal/fault"
	"holdfast/guest/internal/sys"
	"holdfast/guest/internal/user"
)

// pipeBytes lets a command run ahead of the guest; more is not given to ordinary users.
const pipeBytes = 1 << 20

// A trampoline that neither became the shell nor said why: the machine is stuck, not the command.
const startWithin = 30 * time.Second

// Command is what to start.
type Command struct {
	Script         []byte
	Cwd            string
	Env            []string
	Token          uint64
	KeepPrivileges bool
	// As makes the script and the pipes: they belong to the user who runs, so that /dev/stdout can be opened.
	As *user.Threads
}

// Process is a command that waits for Release.
type Process struct {
	PID    int
	Exit   <-chan syscall.WaitStatus
	Stdout *os.File
	Stderr *os.File

	release *os.File
	status  *os.File
}

// ends are the descriptors of one start, closed together.
type ends struct {
	child  []int
	parent []*os.File
}

func (e *ends) closeChild() {
	for _, fd := range e.child {
		_ = syscall.Close(fd)
	}
	e.child = nil
}

func (e *ends) closeAll() {
	e.closeChild()
	for _, file := range e.parent {
		_ = file.Close()
	}
}

// Prepare makes the process, up to the point where it would become the shell.
func (r *Reaper) Prepare(command Command) (*Process, error) {
	all := &ends{}
	if err := all.open(command); err != nil {
		all.closeAll()
		return nil, fault.From(err, "prepare the command's descriptors")
	}
	defer all.closeChild()
	as := command.As.User()
	files := make([]uintptr, len(all.child))
	for i, fd := range all.child {
		files[i] = uintptr(fd)
	}
	groups := make([]uint32, 0, len(as.Groups))
	for _, group := range as.Groups {
		groups = append(groups, uint32(group))
	}
	pid, exit, err := r.start("/proc/self/exe", []string{"holdfast-command", "exec"}, &syscall.ProcAttr{
		Dir:   "/",
		Env:   []string{"GOMAXPROCS=1", "GOGC=off"},
		Files: files,
		Sys: &syscall.SysProcAttr{
			Setsid:     true,
			Credential: &syscall.Credential{Uid: uint32(as.UID), Gid: uint32(as.GID), Groups: groups},
		},
	})
	if err != nil {
		all.closeAll()
		if errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.ENOMEM) {
			return nil, fault.New(fault.CannotStart, "no more processes: %v", err).
				WithHint("The sandbox is at its limit of processes or memory; end what runs in it.")
		}
		return nil, fault.New(fault.CannotStart, "start a process: %v", err)
	}
	return &Process{PID: pid, Exit: exit, Stdout: all.parent[2], Stderr: all.parent[3],
		release: all.parent[0], status: all.parent[1]}, nil
}

// open fills child (in the trampoline's order) and parent (release, status, stdout, stderr).
func (e *ends) open(command Command) error {
	content, err := json.Marshal(order{command.Cwd, command.Env, command.Token, command.KeepPrivileges})
	if err != nil {
		return err
	}
	for range 3 {
		null, err := syscall.Open(os.DevNull, syscall.O_RDWR|syscall.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		e.child = append(e.child, null)
	}
	if err := command.As.Do(func() error { return e.sealed("script", command.Script) }); err != nil {
		return err
	}
	// These belong to root: a sibling of the command must not open them through /proc and speak for it.
	if err := errors.Join(e.pipe("release", true), e.pipe("status", false), e.sealed("order", content)); err != nil {
		return err
	}
	return command.As.Do(func() error {
		for _, name := range []string{"stdout", "stderr"} {
			if err := e.pipe(name, false); err != nil {
				return err
			}
			sys.GrowPipe(e.child[len(e.child)-1], pipeBytes)
		}
		return nil
	})
}

func (e *ends) sealed(name string, content []byte) error {
	fd, err := sys.SealedFile(name, content)
	if err != nil {
		return err
	}
	e.child = append(e.child, fd)
	return nil
}

func (e *ends) pipe(name string, toChild bool) error {
	var pair [2]int
	if err := syscall.Pipe2(pair[:], syscall.O_CLOEXEC); err != nil {
		return err
	}
	ours, theirs := pair[0], pair[1]
	if toChild {
		ours, theirs = theirs, ours
	}
	e.child = append(e.child, theirs)
	// Only our end: waiting for it must not hold a thread, while the command expects ordinary descriptors.
	if err := syscall.SetNonblock(ours, true); err != nil {
		_ = syscall.Close(ours)
		return err
	}
	e.parent = append(e.parent, os.NewFile(uintptr(ours), name))
	return nil
}

// Release lets the process become the shell and says why it did not.
func (p *Process) Release() *fault.Fault {
	defer p.status.Close()
	_, err := p.release.Write([]byte{1})
	err = errors.Join(err, p.release.Close(), p.status.SetReadDeadline(time.Now().Add(startWithin)))
	content, readErr := io.ReadAll(io.LimitReader(p.status, 8*1024))
	if failure := readStatus(content); failure != nil || readErr == nil {
		return failure
	}
	return fault.New(fault.CannotStart, "the command's first process is stuck: %v", errors.Join(err, readErr))
}

// Abandon ends a process that must not start after all.
func (p *Process) Abandon() {
	for _, file := range []*os.File{p.release, p.status, p.Stdout, p.Stderr} {
		_ = file.Close()
	}
}
