package spool

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Stored is an entry as an earlier guest left it.
type Stored struct {
	*Entry
	Claim Claim
	// Start is nil for a call that was claimed and never started.
	Start *Start
	// Record is nil for a call that had not ended.
	Record json.RawMessage
}

// Load finds what an earlier guest left, in no order. Entries that can't be read are reported and left alone:
// their ids stay claimed.
func (s *Spool) Load() ([]Stored, []error) {
	names, err := os.ReadDir(filepath.Join(s.dir, "calls"))
	if err != nil {
		return nil, []error{err}
	}
	var found []Stored
	var unreadable []error
	for _, name := range names {
		stored, err := s.load(filepath.Join(s.dir, "calls", name.Name()))
		switch {
		case err != nil:
			unreadable = append(unreadable, err)
		case s.Buried(stored.Claim.CallID):
			// The guest died between tombstone and removal.
			unreadable = append(unreadable, os.RemoveAll(stored.dir))
		default:
			s.used.Add(stored.outputBytes())
			found = append(found, stored)
		}
	}
	return found, unreadable
}

func (s *Spool) load(dir string) (Stored, error) {
	stored := Stored{Entry: &Entry{spool: s, dir: dir}}
	if err := stored.read("claim.json", &stored.Claim); err != nil {
		return stored, err
	}
	stored.callID = stored.Claim.CallID
	start := &Start{}
	if err := stored.read("start.json", start); err == nil {
		stored.Start = start
	} else if !errors.Is(err, fs.ErrNotExist) {
		return stored, err
	}
	if err := stored.read("exit.json", &stored.Record); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return stored, err
	}
	return stored, nil
}
