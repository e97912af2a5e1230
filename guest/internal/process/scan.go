package process

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"holdfast/guest/internal/sys"
)

// Unmarked is the token of a process that no command started.
const Unmarked = ^uint64(0)

// Found is a live process with a token.
type Found struct {
	PID   int
	Token uint64
}

// Scan lists all live processes that carry a token. It needs no fork and no new thread.
func Scan() ([]Found, error) {
	var found []Found
	err := visit(func(one Found) { found = append(found, one) })
	return found, err
}

// visit hands out each process as soon as it is seen: among many that fight for the processor, a signal must not
// wait for the rest of the look.
func visit(take func(Found)) error {
	proc, err := os.Open("/proc")
	if err != nil {
		return err
	}
	defer proc.Close()
	names, err := proc.Readdirnames(-1)
	if err != nil {
		return err
	}
	self := os.Getpid()
	buffer := make([]byte, 8*1024)
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil || pid == self {
			continue
		}
		if token := tokenOf(name, buffer); token != Unmarked && alive(name, buffer) {
			take(Found{pid, token})
		}
	}
	return nil
}

var tokenLine = []byte("Max realtime timeout")

// tokenOf reads the hard limit: the soft one can be moved below it.
func tokenOf(pid string, buffer []byte) uint64 {
	content := readProc(pid, "limits", buffer)
	at := bytes.Index(content, tokenLine)
	if at < 0 {
		return Unmarked
	}
	line, _, _ := bytes.Cut(content[at+len(tokenLine):], []byte("\n"))
	fields := bytes.Fields(line)
	if len(fields) < 2 {
		return Unmarked
	}
	token, err := strconv.ParseUint(string(fields[1]), 10, 64)
	if err != nil {
		return Unmarked
	}
	return token
}

// alive is false for a zombie, unless it is the dead first thread of a process that goes on.
func alive(pid string, buffer []byte) bool {
	content := readProc(pid, "stat", buffer)
	// The name in parentheses may hold anything: fields are counted from its end.
	end := bytes.LastIndexByte(content, ')')
	if end < 0 {
		return false
	}
	fields := bytes.Fields(content[end+1:])
	const state, threads = 0, 17
	if len(fields) <= threads {
		return false
	}
	dead := fields[state][0] == 'Z' || fields[state][0] == 'X'
	return !dead || string(fields[threads]) > "1" && string(fields[threads]) != "0"
}

func readProc(pid, name string, buffer []byte) []byte {
	fd, err := syscall.Open("/proc/"+pid+"/"+name, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer syscall.Close(fd)
	n, err := syscall.Read(fd, buffer)
	if err != nil {
		return nil
	}
	return buffer[:n]
}

// CommandLine is for people: arguments joined by blanks, at most 200 bytes.
func CommandLine(pid int) string {
	name := strconv.Itoa(pid)
	buffer := make([]byte, 200)
	line := strings.TrimSpace(strings.ReplaceAll(string(readProc(name, "cmdline", buffer)), "\x00", " "))
	if line == "" {
		line = fmt.Sprintf("[%s]", bytes.TrimSpace(readProc(name, "comm", buffer)))
	}
	return strings.ToValidUTF8(line, "\uFFFD")
}

// signalMarked signals the process if it (still) carries the token.
func signalMarked(pid int, token uint64, number syscall.Signal) {
	pidfd, err := sys.PidfdOpen(pid)
	if err != nil {
		// No pidfd in this kernel or under this filter: the pid alone, checked just before.
		if err != syscall.ESRCH && tokenOf(strconv.Itoa(pid), make([]byte, 8*1024)) == token {
			_ = syscall.Kill(pid, number)
		}
		return
	}
	defer syscall.Close(pidfd)
	// Read after the pidfd was opened: if the pid went to another process in between, the signal finds nobody.
	if tokenOf(strconv.Itoa(pid), make([]byte, 8*1024)) == token {
		_ = sys.PidfdSignal(pidfd, number)
	}
}
