package call

import (
	"encoding/json"
	"errors"
	"io/fs"

	"holdfast/guest/internal/fault"
	"holdfast/guest/internal/spool"
)

// Record is what a recorded write came to.
type Record struct {
	Created   bool            `json:"created"`
	SizeBytes int64           `json:"sizeBytes"`
	Result    json.RawMessage `json:"result,omitempty"`
}

// Intent is durable before the file is replaced. As long as the scrap exists, it was not.
type Intent struct {
	Record
	Scrap  string `json:"scrap"`
	AsRoot bool   `json:"asRoot"`
}

// Unsettled decides an intent that an earlier guest left: whether the write happened. If not, drop removes what is
// left of it.
type Unsettled func(intent Intent) (happened bool, drop func() error, err error)

// Recording is a write that is under way.
type Recording struct {
	calls *Calls
	call  *Call
}

// Recorded finds what an earlier write of this call came to, nil when there was none.
func (c *Calls) Recorded(callID, requestHash string, unsettled Unsettled) (*Record, *fault.Fault) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	call, known := c.all[callID]
	if !known && !c.spool.Buried(callID) {
		return nil, nil
	}
	if failure := usable(call, callID, requestHash); failure != nil {
		return nil, failure
	}
	return c.settled(call, unsettled)
}

// BeginWrite claims a write, or finds what it came to before. Either result may be nil.
func (c *Calls) BeginWrite(callID, requestHash string, unsettled Unsettled) (*Recording, *Record, *fault.Fault) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	call, known := c.all[callID]
	if !known {
		var failure *fault.Fault
		if call, failure = c.claim(spool.Claim{CallID: callID, Kind: spool.Write, RequestHash: requestHash}); failure != nil {
			return nil, nil, failure
		}
	}
	if failure := usable(call, callID, requestHash); failure != nil {
		return nil, nil, failure
	}
	record, failure := c.settled(call, unsettled)
	if record != nil || failure != nil {
		return nil, record, failure
	}
	if call.launched {
		return nil, nil, fault.New(fault.Busy, "the write of call %q is under way on another channel", callID)
	}
	call.launched = true
	return &Recording{c, call}, nil, nil
}

func usable(call *Call, callID, requestHash string) *fault.Fault {
	switch {
	case call == nil || call.buried:
		return closedFault(callID)
	case call.kind == spool.Fence:
		return fault.New(fault.Closed, "call %q was cancelled before it began", callID)
	case call.kind != spool.Write || call.hash != requestHash:
		return claimedFault(callID)
	}
	return nil
}

// settled reads the record. One that is missing beside an intent is made up for: the guest ended in between.
func (c *Calls) settled(call *Call, unsettled Unsettled) (*Record, *fault.Fault) {
	record := &Record{}
	err := call.entry.ReadRecord(record)
	if err == nil {
		return record, nil
	}
	if !errors.Is(err, fs.ErrNotExist) || call.launched {
		return nil, maybe(err, call)
	}
	intent := Intent{}
	if err := call.entry.ReadIntent(&intent); err != nil {
		return nil, maybe(err, call)
	}
	happened, drop, err := unsettled(intent)
	if err == nil && !happened {
		// In this order: an intent without a scrap means that the write happened.
		if err = call.entry.DropIntent(); err == nil {
			err = drop()
		}
	}
	if err != nil {
		return nil, fault.From(err, "find out about the write of call "+call.id)
	}
	if !happened {
		return nil, nil
	}
	if err := call.entry.WriteRecord(intent.Record); err != nil {
		return nil, fault.From(err, "record the write of call "+call.id)
	}
	return &intent.Record, nil
}

// maybe: a file that isn't there is an answer, too.
func maybe(err error, call *Call) *fault.Fault {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return fault.From(err, "read the record of call "+call.id)
}

// Intend is the last step before the file is replaced.
func (r *Recording) Intend(intent Intent) error { return r.call.entry.WriteIntent(intent) }

// Withdraw takes the intent back: the file was not replaced.
func (r *Recording) Withdraw() {
	r.calls.warn("withdraw the write of "+r.call.id, r.call.entry.DropIntent())
}

// Done makes the record durable. A failure is no failure of the write: the intent tells the same.
func (r *Recording) Done(record Record) {
	r.calls.warn("record the write of "+r.call.id, r.call.entry.WriteRecord(record))
}

// Close lets another attempt begin when this one did not get to its end.
func (r *Recording) Close() {
	r.calls.mutex.Lock()
	defer r.calls.mutex.Unlock()
	r.call.launched = false
}
