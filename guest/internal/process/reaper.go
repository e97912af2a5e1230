package process

import (
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// Reaper collects every child that ends: commands, and orphans that came to us as PID 1.
type Reaper struct {
	mutex    sync.Mutex
	children map[int]chan syscall.WaitStatus
}

// NewReaper starts to collect at once. There must be one in a process, and nobody else may wait for children.
func NewReaper() *Reaper {
	reaper := &Reaper{children: map[int]chan syscall.WaitStatus{}}
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGCHLD)
	go func() {
		for range ended {
			reaper.collect()
		}
	}()
	return reaper
}

// start holds the lock over the fork: a child that ends at once must find its entry.
func (r *Reaper) start(path string, argv []string, attr *syscall.ProcAttr) (int, <-chan syscall.WaitStatus, error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	pid, err := syscall.ForkExec(path, argv, attr)
	if err != nil {
		return 0, nil, err
	}
	exit := make(chan syscall.WaitStatus, 1)
	r.children[pid] = exit
	return pid, exit, nil
}

// collect never blocks: one signal may stand for many children.
func (r *Reaper) collect() {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		if err == syscall.EINTR {
			continue
		}
		if err != nil || pid <= 0 {
			return
		}
		if exit, ours := r.children[pid]; ours {
			delete(r.children, pid)
			exit <- status
		}
	}
}

// signal reaches the first process of a target only while it is not reaped: its pid can't belong to another by then.
func (r *Reaper) signal(target Target, number syscall.Signal) bool {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if !r.holds(target) {
		return false
	}
	// It may have ended; then it waits to be reaped, and the signal does nothing.
	_ = syscall.Kill(target.PID, number)
	return true
}

func (r *Reaper) lives(target Target) bool {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.holds(target)
}

// holds needs the mutex.
func (r *Reaper) holds(target Target) bool {
	exit, ours := r.children[target.PID]
	return ours && exit == target.Exit
}
