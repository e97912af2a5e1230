package spool

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Kind says what an id was claimed for.
type Kind string

const (
	Run   Kind = "run"
	Write Kind = "write"
	// Fence is an id that was killed before anybody claimed it.
	Fence Kind = "fence"
)

// Claim is the first thing known of a call.
type Claim struct {
	CallID      string `json:"callId"`
	Kind        Kind   `json:"kind"`
	RequestHash string `json:"requestHash"`
	ClaimedAtMs int64  `json:"claimedAtMs"`
}

// Start is written before the command may do anything.
type Start struct {
	PID         int   `json:"pid"`
	StartedAtMs int64 `json:"startedAtMs"`
}

// Entry is the directory of one claimed id.
type Entry struct {
	spool  *Spool
	callID string
	dir    string
}

// WriteStart makes the start record durable.
func (e *Entry) WriteStart(start Start) error {
	content, err := json.Marshal(start)
	if err != nil {
		return err
	}
	return e.replace("start.tmp", "start.json", content)
}

// WriteRecord makes the end of the call durable, also on a full disk: its room was set aside by the claim.
func (e *Entry) WriteRecord(record any) error {
	content, err := json.Marshal(record)
	if err != nil {
		return err
	}
	return e.replace("slot", "exit.json", content)
}

// WriteIntent keeps what is needed to tell, after a crash, whether a recorded file write happened.
func (e *Entry) WriteIntent(intent any) error {
	content, err := json.Marshal(intent)
	if err != nil {
		return err
	}
	return e.replace("intent.tmp", "intent.json", content)
}

// DropIntent takes it back.
func (e *Entry) DropIntent() error { return os.Remove(filepath.Join(e.dir, "intent.json")) }

// ReadRecord finds what WriteRecord left.
func (e *Entry) ReadRecord(into any) error { return e.read("exit.json", into) }

// ReadIntent finds what WriteIntent left.
func (e *Entry) ReadIntent(into any) error { return e.read("intent.json", into) }

// replace writes over what from holds (its blocks are reused), cuts it to size and gives it its name.
func (e *Entry) replace(from, to string, content []byte) error {
	path := filepath.Join(e.dir, from)
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = file.WriteAt(content, 0)
	err = errors.Join(err, file.Truncate(int64(len(content))), file.Close())
	if err != nil {
		return err
	}
	return os.Rename(path, filepath.Join(e.dir, to))
}

func (e *Entry) read(name string, into any) error {
	content, err := os.ReadFile(filepath.Join(e.dir, name))
	if err != nil {
		return err
	}
	if err := json.Unmarshal(content, into); err != nil {
		return fmt.Errorf("%s of call %q: %w", name, e.callID, err)
	}
	return nil
}

// Create opens a new output file.
func (e *Entry) Create(name string) (*os.File, error) {
	return os.OpenFile(filepath.Join(e.dir, name), os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
}

// Open opens an output file for reading.
func (e *Entry) Open(name string) (*os.File, error) { return os.Open(filepath.Join(e.dir, name)) }

// SizeBytes is 0 for what doesn't exist.
func (e *Entry) SizeBytes(name string) int64 {
	info, err := os.Lstat(filepath.Join(e.dir, name))
	if err != nil {
		return 0
	}
	return info.Size()
}

// Bury puts up the tombstone first: dying in between leaves an entry that can be acknowledged again. The tombstone
// is the claim itself, so that another request under the id is still told from the same one.
func (e *Entry) Bury() error {
	err := os.Link(filepath.Join(e.dir, "claim.json"), e.spool.tomb(e.callID))
	if err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	e.spool.used.Add(-e.outputBytes())
	return os.RemoveAll(e.dir)
}

func (e *Entry) outputBytes() int64 { return e.SizeBytes("stdout") + e.SizeBytes("stderr") }
