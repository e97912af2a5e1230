// Package spool keeps what must outlive a channel: claims, start records, output, exit records, tombstones.
//
//	calls/KEY/claim.json   who claimed the id, for what; there before anything happens
//	calls/KEY/start.json   the process; there before it may do anything
//	calls/KEY/stdout ...   output
//	calls/KEY/exit.json    how it ended; there before anybody is told
//	tombs/KEY              the claim of an acknowledged call: the id is used up for the sandbox's life
//
// Files are written and renamed, without fsync: the spool has to survive the death of processes, not that of the
// machine, where the commands die as well.
package spool

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
)

var (
	// ErrClaimed says that the id was claimed before.
	ErrClaimed = errors.New("already claimed")
	// ErrBuried says that the id was claimed and acknowledged.
	ErrBuried = errors.New("already acknowledged")
	// ErrFull says that the spool holds as much as it may.
	ErrFull = errors.New("spool is full")
)

// slotBytes are set aside with each claim, so that a full disk can't keep the exit record from being written.
const slotBytes = 16 * 1024

// Spool is one directory, readable by root alone.
type Spool struct {
	dir      string
	maxBytes int64
	used     atomic.Int64
	scratch  atomic.Int64
}

// Open makes the directory or takes it over from an earlier guest.
func Open(dir string, maxBytes int64) (*Spool, error) {
	if err := os.RemoveAll(filepath.Join(dir, "tmp")); err != nil {
		return nil, err
	}
	for _, part := range []string{"", "calls", "tombs", "tmp"} {
		if err := os.MkdirAll(filepath.Join(dir, part), 0o700); err != nil {
			return nil, err
		}
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return nil, err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(stat.Uid) != os.Geteuid() || info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("spool %s must belong to the guest alone, it is %v", dir, info.Mode())
	}
	return &Spool{dir: dir, maxBytes: maxBytes}, nil
}

// Socket is where the guest listens: inside the spool, where only root gets.
func Socket(dir string) string { return filepath.Join(dir, "guest.sock") }

// Claim takes the id durably, at most once whoever else tries, also in another life of the guest.
func (s *Spool) Claim(claim Claim) (*Entry, error) {
	entry := s.entry(claim.CallID)
	if _, err := os.Lstat(s.tomb(claim.CallID)); err == nil {
		return nil, ErrBuried
	}
	if s.used.Load() >= s.maxBytes {
		return nil, ErrFull
	}
	scratch := filepath.Join(s.dir, "tmp", fmt.Sprint(s.scratch.Add(1)))
	err := fill(scratch, claim)
	if err == nil {
		err = os.Rename(scratch, entry.dir)
	}
	if err == nil {
		return entry, nil
	}
	_ = os.RemoveAll(scratch)
	if errors.Is(err, syscall.ENOTEMPTY) || errors.Is(err, syscall.EEXIST) {
		return nil, ErrClaimed
	}
	return nil, err
}

func fill(dir string, claim Claim) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	content, err := json.Marshal(claim)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "claim.json"), content, 0o600); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "slot"), make([]byte, slotBytes), 0o600)
}

// Buried says whether the id was acknowledged.
func (s *Spool) Buried(callID string) bool {
	_, err := os.Lstat(s.tomb(callID))
	return err == nil
}

// Tomb finds the claim of an acknowledged id.
func (s *Spool) Tomb(callID string) (Claim, bool) {
	claim, err := readClaim(s.tomb(callID))
	return claim, err == nil
}

// Tombs are all acknowledged ids, in no order.
func (s *Spool) Tombs() ([]Claim, error) {
	names, err := os.ReadDir(filepath.Join(s.dir, "tombs"))
	claims := make([]Claim, 0, len(names))
	for _, name := range names {
		claim, problem := readClaim(filepath.Join(s.dir, "tombs", name.Name()))
		if problem != nil {
			err = errors.Join(err, problem)
			continue
		}
		claims = append(claims, claim)
	}
	return claims, err
}

func readClaim(path string) (claim Claim, err error) {
	content, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(content, &claim)
	}
	return claim, err
}

// Grow says how much of the output still fits, and counts it.
func (s *Spool) Grow(bytes int) int {
	for {
		used := s.used.Load()
		fits := max(0, min(int64(bytes), s.maxBytes-used))
		if s.used.CompareAndSwap(used, used+fits) {
			return int(fits)
		}
	}
}

func (s *Spool) tomb(callID string) string { return filepath.Join(s.dir, "tombs", key(callID)) }

func (s *Spool) entry(callID string) *Entry {
	return &Entry{spool: s, callID: callID, dir: filepath.Join(s.dir, "calls", key(callID))}
}

// key makes a file name of any call id.
func key(callID string) string {
	sum := sha256.Sum256([]byte(callID))
	return hex.EncodeToString(sum[:20])
}

// Shrink takes back what Grow counted.
func (s *Spool) Shrink(bytes int) { s.used.Add(-int64(bytes)) }
