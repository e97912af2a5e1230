package call

import (
	"sync"
	"time"

	"holdfast/guest/internal/fault"
	"holdfast/guest/internal/process"
	"holdfast/guest/internal/spool"
)

// Listed is a line of the calls request.
type Listed struct {
	CallID     string       `json:"callId"`
	Kind       string       `json:"kind"`
	State      string       `json:"state"`
	Background []Background `json:"background"`
}

// Find a call to follow.
func (c *Calls) Find(callID string) (*Call, *fault.Fault) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	call, known := c.all[callID]
	switch {
	case known && call.buried, !known && c.spool.Buried(callID):
		return nil, closedFault(callID)
	case !known:
		return nil, fault.New(fault.NotFound, "call %q was never claimed here", callID)
	case call.kind == spool.Write:
		return nil, fault.New(fault.Conflict, "call %q is a write", callID)
	case call.kind == spool.Run && !call.launched:
		return nil, fault.New(fault.NotFound, "call %q was claimed and never started", callID).
			WithHint("Run it again: it will start now.")
	}
	return call, nil
}

// Kill ends a call and all it left. An id that nobody claimed is fenced, so that a run that is still on its way
// doesn't start after the answer.
func (c *Calls) Kill(callID, cause string, grace time.Duration) *fault.Fault {
	c.mutex.Lock()
	call, known := c.all[callID]
	if !known {
		defer c.mutex.Unlock()
		return c.fence(callID, cause)
	}
	fresh := call.kind == spool.Run && !call.launched
	call.launched = call.launched || fresh
	c.mutex.Unlock()
	switch {
	case call.kind == spool.Write:
		return nil
	case fresh:
		call.finish(Cancelled(cause), false)
		return nil
	}
	return call.Kill(Cancelled(cause), grace)
}

func (c *Calls) fence(callID, cause string) *fault.Fault {
	call, failure := c.claim(spool.Claim{CallID: callID, Kind: spool.Fence})
	if failure == nil {
		call.launched = true
		call.finish(Cancelled(cause), false)
		return nil
	}
	if failure.Code == fault.Closed {
		return nil
	}
	return failure
}

// Acknowledge lets go of calls whose answers are durable elsewhere; of running ones when they end.
func (c *Calls) Acknowledge(callIDs []string) {
	for _, callID := range callIDs {
		c.mutex.Lock()
		call, known := c.all[callID]
		c.mutex.Unlock()
		if !known {
			continue
		}
		call.mutex.Lock()
		call.acknowledged = true
		over := call.end != nil || call.kind == spool.Write
		call.mutex.Unlock()
		if over {
			c.bury(call)
		}
	}
}

// bury keeps a call in memory as long as processes of it live: they can still be listed and ended.
func (c *Calls) bury(call *Call) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if call.buried {
		return
	}
	if err := call.entry.Bury(); err != nil {
		c.warn("acknowledge "+call.id, err)
		return
	}
	call.buried = true
	if call.end == nil || len(call.end.Background) == 0 {
		delete(c.all, call.id)
	}
}

// List tells all that the guest knows, with what lives in the background now.
func (c *Calls) List() []Listed {
	living := map[uint64][]Background{}
	found, err := process.Scan()
	if err != nil {
		c.warn("look for background processes", err)
	}
	for _, one := range found {
		if len(living[one.Token]) < maxListed {
			living[one.Token] = append(living[one.Token], Background{PID: one.PID, Command: process.CommandLine(one.PID)})
		}
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	listed := make([]Listed, 0, len(c.all))
	buried, err := c.spool.Tombs()
	if err != nil {
		c.warn("read the tombstones", err)
	}
	for _, tomb := range buried {
		if _, known := c.all[tomb.CallID]; !known && tomb.Kind != spool.Fence {
			listed = append(listed, Listed{CallID: tomb.CallID, Kind: string(tomb.Kind), State: "acknowledged", Background: []Background{}})
		}
	}
	for id, call := range c.all {
		line := Listed{CallID: id, Kind: string(call.kind), State: call.state(), Background: []Background{}}
		if line.State == "ended" || call.buried {
			line.Background = append(line.Background, living[call.token]...)
		}
		if call.buried && len(line.Background) == 0 {
			delete(c.all, id)
		}
		listed = append(listed, line)
	}
	return listed
}

// state needs the mutex of all calls.
func (c *Call) state() string {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	switch {
	case c.buried:
		return "acknowledged"
	case c.end != nil || c.kind == spool.Write:
		return "ended"
	case c.launched:
		return "running"
	}
	return "claimed"
}

// Stop refuses new calls and ends those that run. It returns when all have their records.
func (c *Calls) Stop(grace time.Duration) {
	c.mutex.Lock()
	c.stopping = true
	var running []*Call
	for _, call := range c.all {
		if call.kind == spool.Run && call.state() == "running" {
			running = append(running, call)
		}
	}
	c.mutex.Unlock()
	var all sync.WaitGroup
	for _, call := range running {
		all.Add(1)
		go func() {
			defer all.Done()
			call.terminate(Cancelled("stop"), grace)
			<-call.done
		}()
	}
	all.Wait()
}

// Stopping says whether new calls are refused.
func (c *Calls) Stopping() bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.stopping
}
