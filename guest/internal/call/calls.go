package call

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"holdfast/guest/internal/fault"
	"holdfast/guest/internal/process"
	"holdfast/guest/internal/spool"
)

// tokenMark is set in every token, so that they are far above any limit somebody would choose.
const tokenMark = uint64(1) << 60

// Calls are all calls the guest knows.
type Calls struct {
	spool  *spool.Spool
	reaper *process.Reaper
	epoch  string
	// series is part of all tokens of this start of the guest.
	series   uint64
	issued   atomic.Uint64
	poisoned atomic.Bool

	mutex    sync.Mutex
	all      map[string]*Call
	stopping bool
}

// Open takes over what an earlier guest left: ended calls still answer, started ones are lost, and those that were
// only claimed may start.
func Open(store *spool.Spool, reaper *process.Reaper) (*Calls, error) {
	random := make([]byte, 20)
	if _, err := rand.Read(random); err != nil {
		return nil, err
	}
	calls := &Calls{spool: store, reaper: reaper, all: map[string]*Call{}, epoch: hex.EncodeToString(random[:16])}
	calls.series = tokenMark | uint64(binary.BigEndian.Uint32(random[16:])>>8)<<32
	stored, problems := store.Load()
	for _, problem := range problems {
		calls.warn("read the spool", problem)
	}
	for _, entry := range stored {
		call := calls.newCall(entry.Entry, entry.Claim)
		calls.all[call.id] = call
		if call.kind != spool.Write {
			calls.restore(call, entry)
		}
	}
	return calls, nil
}

func (c *Calls) restore(call *Call, stored spool.Stored) {
	call.sizes = [2]int64{call.entry.SizeBytes("stdout"), call.entry.SizeBytes("stderr")}
	switch {
	case stored.Record != nil:
		end := &End{}
		if err := json.Unmarshal(stored.Record, end); err != nil {
			c.warn("read the record of "+call.id, err)
			call.finish(Outcome{Kind: "lost", Reason: "its record can't be read"}, false)
			return
		}
		// Processes don't outlive the guest that knew them.
		end.Background = []Background{}
		call.end = end
		call.launched = true
		close(call.done)
	case stored.Start != nil:
		call.launched = true
		call.startedAtMs = stored.Start.StartedAtMs
		call.finish(Outcome{Kind: "lost", Reason: "the sandbox's supervisor was started again while the command ran"}, false)
	}
}

// Epoch is random for each start of the guest.
func (c *Calls) Epoch() string { return c.epoch }

// Begin claims the call, or finds it. The claim is in place when it returns; start runs it then. Of an acknowledged
// call nothing is found and nothing starts.
func (c *Calls) Begin(request *Request) (found *Call, start func() *fault.Fault, failure *fault.Fault) {
	if failure := request.Check(); failure != nil {
		return nil, nil, failure
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	call, known := c.all[request.CallID]
	if known && call.kind == spool.Fence {
		return call, nil, nil
	}
	if known && (call.kind != spool.Run || call.hash != request.hash()) {
		return nil, nil, claimedFault(request.CallID)
	}
	if known && (call.buried || call.launched) {
		return call, nil, nil
	}
	if tomb, buried := c.spool.Tomb(request.CallID); buried {
		// Nothing is left to follow, and nothing may start again.
		if tomb.Kind == spool.Fence || tomb.Kind == spool.Run && tomb.RequestHash == request.hash() {
			return nil, nil, nil
		}
		return nil, nil, claimedFault(request.CallID)
	}
	if c.stopping {
		return nil, nil, fault.New(fault.Closed, "the sandbox is stopping")
	}
	if c.poisoned.Load() {
		return nil, nil, poisonedFault()
	}
	if !known {
		call, failure = c.claim(spool.Claim{CallID: request.CallID, Kind: spool.Run, RequestHash: request.hash()})
		if failure != nil {
			return nil, nil, failure
		}
	}
	call.launched = true
	call.limitBytes = request.OutputLimitBytes
	call.token = c.series | c.issued.Add(1)&0xffffffff
	return call, func() *fault.Fault { return call.launch(request) }, nil
}

// claim needs the mutex.
func (c *Calls) claim(claim spool.Claim) (*Call, *fault.Fault) {
	claim.ClaimedAtMs = time.Now().UnixMilli()
	entry, err := c.spool.Claim(claim)
	switch {
	case errors.Is(err, spool.ErrBuried):
		return nil, closedFault(claim.CallID)
	case errors.Is(err, spool.ErrFull):
		return nil, spaceFault(err)
	case errors.Is(err, spool.ErrClaimed):
		// On disk and not in memory: its entry could not be read.
		return nil, fault.New(fault.Internal, "the record of call %q can't be read", claim.CallID)
	case err != nil:
		return nil, fault.From(err, fmt.Sprintf("claim call %q", claim.CallID))
	}
	call := c.newCall(entry, claim)
	c.all[claim.CallID] = call
	return call, nil
}

func claimedFault(callID string) *fault.Fault {
	return fault.New(fault.Conflict, "call %q was claimed for another request", callID).
		WithHint("Use a new call id for another request.").OnField("callId")
}

func closedFault(callID string) *fault.Fault {
	return fault.New(fault.Closed, "call %q was acknowledged: its answer is gone from the sandbox", callID)
}

// stray says whether a token belongs to no call of this guest. Only PID 1 can judge: all processes it sees are its
// own, while elsewhere another sandbox's may be among them.
func (c *Calls) stray(token uint64) bool {
	number := token & 0xffffffff
	return os.Getpid() == 1 && (token-number != c.series || number == 0 || number > c.issued.Load())
}

// leftOf lists what a call left.
func (c *Calls) leftOf(token uint64) []Background {
	found, err := process.Scan()
	if err != nil {
		c.warn("look for background processes", err)
	}
	var left []Background
	for _, one := range found {
		if one.Token == token && len(left) < maxListed {
			left = append(left, Background{PID: one.PID, Command: process.CommandLine(one.PID)})
		}
	}
	return left
}

// maxListed bounds the record; more than so many background processes are no list any more.
const maxListed = 50

func (c *Calls) poison() { c.poisoned.Store(true) }

// Poisoned says whether processes of a call could not be ended.
func (c *Calls) Poisoned() bool { return c.poisoned.Load() }

// warn is for the sandbox's log: nobody waits for an answer to this.
func (c *Calls) warn(doing string, err error) {
	if err != nil {
		fmt.Fprintf(os.Stderr, "holdfast-guest: %s: %v\n", doing, err)
	}
}
