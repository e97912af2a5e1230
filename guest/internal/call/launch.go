package call

import (
	"math"
	"sync"
	"syscall"
	"time"

	"holdfast/guest/internal/fault"
	"holdfast/guest/internal/process"
	"holdfast/guest/internal/spool"
)

// launch starts the command of a fresh claim and returns when it runs, or says why it never will.
func (c *Call) launch(request *Request) *fault.Fault {
	oomBefore := process.OomKills()
	started, err := c.calls.reaper.Prepare(process.Command{
		Script: request.Script, Cwd: request.Cwd, Env: request.environment(), Token: c.token,
		KeepPrivileges: request.KeepPrivileges, As: request.As,
	})
	if err != nil {
		return c.neverStarted(fault.From(err, "start the command"))
	}
	outputs, err := c.outputs(started)
	if err == nil {
		c.startedAtMs = time.Now().UnixMilli()
		err = c.entry.WriteStart(spool.Start{PID: started.PID, StartedAtMs: c.startedAtMs})
	}
	if err != nil {
		started.Abandon()
		return c.neverStarted(spaceFault(err))
	}
	if reason := c.enter(started); reason != nil {
		started.Abandon()
		c.finish(*reason, false)
		return nil
	}
	// More milliseconds than a Duration holds would be a timer that fires at once.
	timer := time.AfterFunc(time.Duration(min(request.TimeoutMs, math.MaxInt64/1_000_000))*time.Millisecond, func() {
		c.terminate(Outcome{Kind: "timed-out", TimeoutMs: request.TimeoutMs}, termGrace)
	})
	var pumps sync.WaitGroup
	for _, output := range outputs {
		pumps.Add(1)
		go func() { defer pumps.Done(); output.pump() }()
	}
	failure := started.Release()
	if failure != nil {
		// The trampoline ends by itself; what it printed before is nobody's output.
		c.terminate(failed(failure), 0)
	}
	go func() {
		defer timer.Stop()
		c.supervise(started.Exit, outputs, &pumps, oomBefore)
	}()
	if failure != nil {
		<-c.done
	}
	return failure
}

func (c *Call) neverStarted(reason *fault.Fault) *fault.Fault {
	c.finish(failed(reason), false)
	return reason
}

// enter makes the process known to terminate; a reason that came before keeps it from starting.
func (c *Call) enter(started *process.Process) *Outcome {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.pid, c.exit = started.PID, started.Exit
	return c.reason
}

func (c *Call) outputs(started *process.Process) ([]*output, error) {
	pipes := [2]*output{{call: c, index: 0, pipe: started.Stdout}, {call: c, index: 1, pipe: started.Stderr}}
	for index, pipe := range pipes {
		file, err := c.entry.Create(Streams[index])
		if err != nil {
			return nil, err
		}
		pipe.file = file
	}
	return pipes[:], nil
}

// supervise waits for the main process, then for all that it wrote, then says how the call ended.
func (c *Call) supervise(exit <-chan syscall.WaitStatus, outputs []*output, pumps *sync.WaitGroup, oomBefore int64) {
	status, exited := c.awaitExit(exit)
	c.awaitEnding()
	for _, output := range outputs {
		if err := output.settle(); err != nil {
			c.calls.warn("settle output", err)
		}
	}
	pumps.Wait()
	c.endOverflow()
	confirmed := c.awaitEnding()
	if !confirmed {
		c.calls.poison()
	}
	c.finish(c.outcome(status, exited, process.OomKills() > oomBefore), !confirmed)
	for _, output := range outputs {
		_ = output.file.Close()
		go output.linger(c.entry)
	}
}

// awaitExit gives up on a process that KILL did not end.
func (c *Call) awaitExit(exit <-chan syscall.WaitStatus) (syscall.WaitStatus, bool) {
	select {
	case status := <-exit:
		c.mutex.Lock()
		c.exited = true
		c.mutex.Unlock()
		return status, true
	case <-c.begun:
	}
	if c.awaitEnding() {
		return <-exit, true
	}
	return 0, false
}

// endOverflow ends what a call left that went beyond its limit in its last moment, as in any other moment.
func (c *Call) endOverflow() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.over != nil && c.ending == nil {
		c.begin(termGrace)
	}
}

// awaitEnding waits for what terminate began, if it did. False: something could not be ended.
func (c *Call) awaitEnding() bool {
	c.mutex.Lock()
	work := c.ending
	c.mutex.Unlock()
	if work == nil {
		return true
	}
	<-work.done
	return work.confirmed
}
