package user

import (
	"fmt"
	"runtime"
	"syscall"
	"unsafe"
)

// Threads do file work with the file-system identity of one user. Only the fsuid changes, never the uid: a
// thread with the session user's uid could be killed by that user, and the guest with it.
type Threads struct {
	user User
	jobs chan func()
}

// NewThreads starts count operating system threads that stay for the guest's life.
func NewThreads(as User, count int) (*Threads, error) {
	threads := &Threads{user: as, jobs: make(chan func())}
	ready := make(chan error)
	for range count {
		go threads.work(ready)
	}
	var failed error
	for range count {
		if err := <-ready; err != nil {
			failed = err
		}
	}
	return threads, failed
}

// User is whose identity the threads have.
func (t *Threads) User() User { return t.user }

// Do runs job on one of the threads and returns when it is done.
func (t *Threads) Do(job func() error) error {
	done := make(chan error, 1)
	t.jobs <- func() {
		// A panic here would end the guest and every command with it.
		defer func() {
			if reason := recover(); reason != nil {
				done <- fmt.Errorf("file operation failed: %v", reason)
			}
		}()
		done <- job()
	}
	return <-done
}

func (t *Threads) work(ready chan<- error) {
	// Never unlocked: the thread must not come back to the pool with this identity.
	runtime.LockOSThread()
	if err := t.become(); err != nil {
		ready <- err
		return
	}
	ready <- nil
	for job := range t.jobs {
		job()
	}
}

// become uses raw calls because those of the standard library change all threads of the process.
func (t *Threads) become() error {
	groups := make([]uint32, 0, len(t.user.Groups)+1)
	for _, group := range t.user.Groups {
		groups = append(groups, uint32(group))
	}
	groups = append(groups, uint32(t.user.GID))
	if _, _, errno := syscall.RawSyscall(syscall.SYS_SETGROUPS, uintptr(len(groups)),
		uintptr(unsafe.Pointer(&groups[0])), 0); errno != 0 {
		return fmt.Errorf("set groups of %s: %w", t.user.Name, errno)
	}
	if err := change(syscall.SYS_SETFSGID, t.user.GID); err != nil {
		return fmt.Errorf("become group %d: %w", t.user.GID, err)
	}
	if err := change(syscall.SYS_SETFSUID, t.user.UID); err != nil {
		return fmt.Errorf("become user %d: %w", t.user.UID, err)
	}
	return nil
}

// change asks again what the id is now: setfsuid and setfsgid report no errors.
func change(call uintptr, id int) error {
	_, _, _ = syscall.RawSyscall(call, uintptr(id), 0, 0)
	if now, _, _ := syscall.RawSyscall(call, ^uintptr(0), 0, 0); int(uint32(now)) != id {
		return syscall.EPERM
	}
	return nil
}
