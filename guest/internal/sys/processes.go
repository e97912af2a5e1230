package sys

import (
	"syscall"
	"unsafe"
)

const (
	prSetNoNewPrivs       = 38
	prSetChildSubreaper   = 36
	capabilityVersion3    = 0x20080522
	rlimitRealtimeTimeout = 15
)

// PidfdOpen holds on to one process: a signal through it never reaches a later one with the same pid.
func PidfdOpen(pid int) (int, error) {
	fd, _, errno := syscall.Syscall(sysPidfdOpen, uintptr(pid), 0, 0)
	if errno != 0 {
		return -1, errno
	}
	return int(fd), nil
}

// PidfdSignal signals the process behind a pidfd.
func PidfdSignal(fd int, signal syscall.Signal) error {
	return errnoOf(syscall.Syscall6(sysPidfdSendSignal, uintptr(fd), uintptr(signal), 0, 0, 0, 0))
}

// SetToken marks this process and all its descendants: the limit is inherited over fork, exec and setsid, shows in
// /proc/PID/limits, and can't be raised again. It has no effect on processes without real-time scheduling.
func SetToken(token uint64) error {
	limit := syscall.Rlimit{Cur: token, Max: token}
	return syscall.Setrlimit(rlimitRealtimeTimeout, &limit)
}

// BecomeSubreaper makes orphans of our children ours, as they are for PID 1.
func BecomeSubreaper() error {
	return errnoOf(syscall.RawSyscall(syscall.SYS_PRCTL, prSetChildSubreaper, 1, 0))
}

// DropPrivileges keeps a following exec from gaining or keeping capabilities, also for uid 0.
func DropPrivileges() error {
	if err := errnoOf(syscall.RawSyscall6(syscall.SYS_PRCTL, prSetNoNewPrivs, 1, 0, 0, 0, 0)); err != nil {
		return err
	}
	header := struct {
		version uint32
		pid     int32
	}{version: capabilityVersion3}
	var none [2]struct{ effective, permitted, inheritable uint32 }
	return errnoOf(syscall.RawSyscall(syscall.SYS_CAPSET, uintptr(unsafe.Pointer(&header)),
		uintptr(unsafe.Pointer(&none)), 0))
}
