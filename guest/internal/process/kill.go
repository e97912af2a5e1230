package process

import (
	"syscall"
	"time"
)

// confirmWithin bounds the KILL rounds. What survives them hangs in the kernel, or breeds faster than it dies.
const confirmWithin = 10 * time.Second

// plainRounds of KILL are enough for all but fork bombs.
const plainRounds = 1

// Target is everything of one call: its first process (which has no token in its first moments) and all that
// carries its token. Tokens for which Stray says true belong to nobody and go as well.
type Target struct {
	PID int
	// Exit tells the first process from a later one with the same pid.
	Exit  <-chan syscall.WaitStatus
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
	until := time.Now().Add(confirmWithin)
	for round := 0; time.Now().Before(until); round++ {
		if round >= plainRounds {
			r.freeze(target, until)
		}
		if r.each(target, syscall.SIGKILL) == 0 && r.count(target) == 0 {
			return true
		}
		time.Sleep(2 * time.Millisecond)
	}
	return false
}

// freeze stops whatever breeds: a killed process makes room for the next fork, a stopped one keeps its place, so
// that at the limit of processes nothing new appears and a look at all of them is complete.
func (r *Reaper) freeze(target Target, until time.Time) {
	stopped := map[int]bool{}
	for fresh := true; fresh && time.Now().Before(until); {
		fresh = false
		r.find(target, func(process Found) {
			if !stopped[process.PID] {
				stopped[process.PID], fresh = true, true
				r.send(target, process, syscall.SIGSTOP)
			}
		})
	}
}

// each signals whoever is there and says how many that were.
func (r *Reaper) each(target Target, numbers ...syscall.Signal) int {
	return r.find(target, func(process Found) {
		for _, number := range numbers {
			r.send(target, process, number)
		}
	})
}

func (r *Reaper) send(target Target, process Found, number syscall.Signal) {
	if process.PID != target.PID || !r.signal(target, number) {
		signalMarked(process.PID, process.Token, number)
	}
}

func (r *Reaper) count(target Target) int { return r.find(target, func(Found) {}) }

// find hands out each process of the target and counts them.
func (r *Reaper) find(target Target, take func(Found)) int {
	count, first := 0, false
	err := visit(func(process Found) {
		stray := target.Stray != nil && target.Stray(process.Token)
		if process.Token == target.Token || stray {
			count++
			first = first || process.PID == target.PID
			take(process)
		}
	})
	if !first && r.lives(target) {
		count++
		take(Found{PID: target.PID, Token: target.Token})
	}
	if err != nil {
		// No view of the processes: something may be there, and nobody must take this for "all ended".
		count++
	}
	return count
}
