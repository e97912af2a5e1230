package call

import (
	"sync"
	"syscall"
	"time"

	"holdfast/guest/internal/fault"
	"holdfast/guest/internal/process"
	"holdfast/guest/internal/spool"
)

// termGrace is what a command gets between TERM and KILL when its time or its output is used up.
const termGrace = 2 * time.Second

// Call is one claimed id. What it came to is in end, once done is closed.
type Call struct {
	calls *Calls
	entry *spool.Entry
	id    string
	kind  spool.Kind
	hash  string
	token uint64
	// limitBytes is the most kept of each stream.
	limitBytes int64
	done       chan struct{}
	// begun is closed when something begins to end the call.
	begun chan struct{}

	mutex   sync.Mutex
	changed chan struct{}
	// launched: by this guest; what an earlier one only claimed may start now.
	launched    bool
	pid         int
	exit        <-chan syscall.WaitStatus
	startedAtMs int64
	sizes       [2]int64
	// reason is the first that ended the call, nil while it runs by itself.
	reason *Outcome
	// over is set when the output went beyond a limit, whatever else happens.
	over *Outcome
	// exited: the main process ended by itself. Nobody can end it any more, only what it left.
	exited       bool
	ending       *ending
	acknowledged bool
	buried       bool
	end          *End
}

// ending is the work of TERM, grace and KILL.
type ending struct {
	done      chan struct{}
	confirmed bool
}

func (c *Calls) newCall(entry *spool.Entry, claim spool.Claim) *Call {
	return &Call{calls: c, entry: entry, id: claim.CallID, kind: claim.Kind, hash: claim.RequestHash,
		done: make(chan struct{}), changed: make(chan struct{}), begun: make(chan struct{})}
}

// View is what a follower needs: everything up to Sizes can be read; Changed closes when there is more to see.
type View struct {
	Sizes   [2]int64
	End     *End
	Changed <-chan struct{}
}

// View of the call at this moment.
func (c *Call) View() View {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return View{c.sizes, c.end, c.changed}
}

// Entry is where the output is.
func (c *Call) Entry() *spool.Entry { return c.entry }

// tell wakes followers. The mutex is held.
func (c *Call) tell() {
	close(c.changed)
	c.changed = make(chan struct{})
}

func (c *Call) grew(index, bytes int) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.sizes[index] += int64(bytes)
	c.tell()
}

func (c *Call) room(index int) int64 {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.limitBytes - c.sizes[index]
}

func (c *Call) overLimit(outcome Outcome) {
	c.mutex.Lock()
	first := c.over == nil
	if first {
		c.over = &outcome
	}
	c.mutex.Unlock()
	if first {
		c.terminate(outcome, termGrace)
	}
}

func (c *Call) outOfSpace(err error) { c.overLimit(failed(spaceFault(err))) }

// terminate starts to end the call, for the first reason only. A call that has not started yet won't; one whose
// main process ended by itself stays as it ended.
func (c *Call) terminate(reason Outcome, grace time.Duration) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.reason != nil || c.exited || c.end != nil {
		return
	}
	c.reason = &reason
	if c.pid != 0 {
		c.begin(grace)
	}
}

// begin needs the mutex.
func (c *Call) begin(grace time.Duration) {
	work := &ending{done: make(chan struct{})}
	c.ending = work
	close(c.begun)
	target := c.target()
	go func() {
		work.confirmed = c.calls.reaper.End(target, grace)
		close(work.done)
	}()
}

func (c *Call) target() process.Target {
	return process.Target{PID: c.pid, Exit: c.exit, Token: c.token, Stray: c.calls.stray}
}

// Refused says why the command could not be started, nil when it was or when that isn't known yet.
func (c *Call) Refused() *fault.Fault {
	if c == nil {
		return nil
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	// Other errors end a command that ran: its output is there, and whoever asks again has to get at it.
	if c.end == nil || c.end.Outcome.Error == nil || c.end.Outcome.Error.Code != fault.CannotStart {
		return nil
	}
	return c.end.Outcome.Error
}

// Kill ends everything of the call and returns when nothing is left, background processes included.
func (c *Call) Kill(reason Outcome, grace time.Duration) *fault.Fault {
	c.mutex.Lock()
	ended := c.end != nil
	c.mutex.Unlock()
	if !ended {
		c.terminate(reason, grace)
		<-c.done
	}
	if c.token == 0 {
		return nil
	}
	if !c.calls.reaper.End(c.target(), grace) {
		c.calls.poison()
	}
	if c.calls.Poisoned() {
		return poisonedFault()
	}
	return nil
}

// finish writes the exit record before anybody is told.
func (c *Call) finish(outcome Outcome, poisoned bool) {
	c.mutex.Lock()
	end := &End{
		Outcome: outcome, Totals: Totals{c.sizes[0], c.sizes[1]}, Background: []Background{},
		StartedAtMs: c.startedAtMs, EndedAtMs: time.Now().UnixMilli(), Poisoned: poisoned,
	}
	c.mutex.Unlock()
	if end.StartedAtMs == 0 {
		end.StartedAtMs = end.EndedAtMs
	}
	if c.token != 0 {
		end.Background = append(end.Background, c.calls.leftOf(c.token)...)
	}
	if err := c.entry.WriteRecord(end); err != nil {
		// Its room was set aside, so this is no ordinary full disk. The answer is still true.
		c.calls.warn("exit record of "+c.id, err)
	}
	c.mutex.Lock()
	c.end = end
	c.tell()
	acknowledged := c.acknowledged
	c.mutex.Unlock()
	close(c.done)
	if acknowledged {
		c.calls.bury(c)
	}
}

// outcome decides, when the main process has ended, what the call came to.
func (c *Call) outcome(status syscall.WaitStatus, exited, oomKilled bool) Outcome {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	switch {
	case c.reason != nil:
		return *c.reason
	case c.over != nil:
		return *c.over
	case !exited:
		return failed(poisonedFault())
	}
	return natural(status, oomKilled)
}

func poisonedFault() *fault.Fault {
	return fault.New(fault.SessionLost, "processes of a call could not be ended").
		WithHint("Remove this sandbox: what is left in it can't be trusted.")
}
