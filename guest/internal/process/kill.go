package process

import (
	"slices"
	"syscall"
	"time"
)

// confirmWithin bounds the KILL rounds. What survives them hangs in the kernel, or breeds faster than it dies.
const confirmWithin = 10 * time.Second

// Target is everything of one call: its first process (which has no token in its first moments) and all that
// carries its token. Tokens for which Stray says true belong to nobody and go as well.
type Target struct {
	PID   int
	Token uint64
	Stray func(token uint64) bool
}

// End asks with TERM, waits for the grace, then KILLs until a look at all processes finds none. False: something
// is left, and the sandbox can't be trusted any more.
func (r *Reaper) End(target Target, grace time.Duration) bool {
	if grace > 0 && r.each(target, syscall.SIGTERM, syscall.SIGCONT) > 0 {
		for until := time.Now().Add(grace); time.Now().Before(until); {
			// Short at first: most commands end at once, and somebody waits for the answer.
			time.Sleep(min(20*time.Millisecond, time.Until(until)))
			if r.count(target) == 0 {
				return true
			}
		}
	}
	for until := time.Now().Add(confirmWithin); time.Now().Before(until); {
		if r.each(target, syscall.SIGKILL) == 0 && r.count(target) == 0 {
			return true
		}
		time.Sleep(2 * time.Millisecond)
	}
	return false
}

// each signals whoever is there and says how many that were.
func (r *Reaper) each(target Target, numbers ...syscall.Signal) int {
	found := r.find(target)
	for _, process := range found {
		for _, number := range numbers {
			if process.PID == target.PID {
				r.signal(process.PID, number)
			} else {
				signalMarked(process.PID, process.Token, number)
			}
		}
	}
	return len(found)
}

func (r *Reaper) count(target Target) int { return len(r.find(target)) }

func (r *Reaper) find(target Target) []Found {
	marked, err := Scan()
	if err != nil {
		// No view of the processes: say that something is there, so that nobody takes this for "all ended".
		marked = []Found{{PID: target.PID, Token: target.Token}}
	}
	found := slices.DeleteFunc(marked, func(process Found) bool {
		stray := target.Stray != nil && target.Stray(process.Token)
		return process.Token != target.Token && process.PID != target.PID && !stray
	})
	listed := slices.ContainsFunc(found, func(process Found) bool { return process.PID == target.PID })
	if !listed && r.lives(target.PID) {
		found = append(found, Found{PID: target.PID, Token: target.Token})
	}
	return found
}

func (r *Reaper) lives(pid int) bool {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	_, ours := r.children[pid]
	return ours
}
