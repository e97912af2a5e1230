// Package call is the life of a command: claimed, started, followed, ended, acknowledged.
package call

import (
	"syscall"

	"holdfast/guest/internal/fault"
)

// Outcome is the contract's outcome of a call.
type Outcome struct {
	Kind       string       `json:"kind"`
	ExitCode   *int         `json:"exitCode,omitempty"`
	Signal     string       `json:"signal,omitempty"`
	Oom        bool         `json:"oom,omitempty"`
	TimeoutMs  int64        `json:"timeoutMs,omitempty"`
	By         string       `json:"by,omitempty"`
	Stream     string       `json:"stream,omitempty"`
	LimitBytes int64        `json:"limitBytes,omitempty"`
	Reason     string       `json:"reason,omitempty"`
	Error      *fault.Fault `json:"error,omitempty"`
}

// Totals are the exact counts of bytes kept in the spool.
type Totals struct {
	Stdout int64 `json:"stdout"`
	Stderr int64 `json:"stderr"`
}

// Background is a process of the call that outlived it.
type Background struct {
	PID     int    `json:"pid"`
	Command string `json:"command"`
}

// End is how a call ended: the exit record, and the trailer of every follow.
type End struct {
	Outcome     Outcome      `json:"outcome"`
	Totals      Totals       `json:"totals"`
	StartedAtMs int64        `json:"startedAtMs"`
	EndedAtMs   int64        `json:"endedAtMs"`
	Background  []Background `json:"background"`
	// Poisoned: processes of the call could not be ended.
	Poisoned bool `json:"poisoned"`
}

// Cancelled is the outcome of a call that somebody ended.
func Cancelled(by string) Outcome { return Outcome{Kind: "cancelled", By: by} }

func failed(reason *fault.Fault) Outcome { return Outcome{Kind: "error", Error: reason} }

// natural is the outcome of a command that nobody ended: its own 124 or 137 is a plain code.
func natural(status syscall.WaitStatus, oomKilled bool) Outcome {
	if !status.Signaled() {
		code := status.ExitStatus()
		return Outcome{Kind: "exited", ExitCode: &code}
	}
	number := status.Signal()
	code := 128 + int(number)
	return Outcome{
		Kind: "signaled", Signal: signalName(number), ExitCode: &code,
		Oom: oomKilled && number == syscall.SIGKILL,
	}
}

var signalNames = [...]string{
	1: "SIGHUP", "SIGINT", "SIGQUIT", "SIGILL", "SIGTRAP", "SIGABRT", "SIGBUS", "SIGFPE", "SIGKILL", "SIGUSR1",
	"SIGSEGV", "SIGUSR2", "SIGPIPE", "SIGALRM", "SIGTERM", "SIGSTKFLT", "SIGCHLD", "SIGCONT", "SIGSTOP", "SIGTSTP",
	"SIGTTIN", "SIGTTOU", "SIGURG", "SIGXCPU", "SIGXFSZ", "SIGVTALRM", "SIGPROF", "SIGWINCH", "SIGIO", "SIGPWR",
	"SIGSYS",
}

func signalName(number syscall.Signal) string {
	if int(number) < len(signalNames) {
		return signalNames[number]
	}
	return "SIGRT"
}
