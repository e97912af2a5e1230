package spool

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

func open(t *testing.T, dir string) *Spool {
	t.Helper()
	spool, err := Open(dir, 1000)
	if err != nil {
		t.Fatal(err)
	}
	return spool
}

func TestAnIdIsClaimedOnce(t *testing.T) {
	spool := open(t, filepath.Join(t.TempDir(), "spool"))
	var wins, losses int
	var mutex sync.Mutex
	var all sync.WaitGroup
	for range 16 {
		all.Add(1)
		go func() {
			defer all.Done()
			_, err := spool.Claim(Claim{CallID: "../c1\n", Kind: Run})
			mutex.Lock()
			defer mutex.Unlock()
			if err == nil {
				wins++
			} else if errors.Is(err, ErrClaimed) {
				losses++
			}
		}()
	}
	all.Wait()
	if wins != 1 || losses != 15 {
		t.Fatalf("%d claims, %d refusals", wins, losses)
	}
}

func TestStagesSurviveARestart(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "spool")
	spool := open(t, dir)
	for _, id := range []string{"claimed", "started", "ended", "acknowledged"} {
		entry, err := spool.Claim(Claim{CallID: id, Kind: Run, RequestHash: "h"})
		if err != nil {
			t.Fatal(err)
		}
		if id != "claimed" && entry.WriteStart(Start{PID: 7}) != nil {
			t.Fatal("start record")
		}
		if id == "ended" && entry.WriteRecord(map[string]int{"exitCode": 3}) != nil {
			t.Fatal("exit record")
		}
		if id == "acknowledged" && entry.Bury() != nil {
			t.Fatal("tombstone")
		}
	}
	again := open(t, dir)
	found, problems := again.Load()
	if len(problems) != 0 || len(found) != 3 {
		t.Fatalf("found %v, problems %v", found, problems)
	}
	for _, stored := range found {
		started, ended := stored.Start != nil, stored.Record != nil
		if started != (stored.Claim.CallID != "claimed") || ended != (stored.Claim.CallID == "ended") {
			t.Fatalf("%+v", stored)
		}
		if ended && string(stored.Record) != `{"exitCode":3}` {
			t.Fatalf("record %s", stored.Record)
		}
	}
	if _, err := again.Claim(Claim{CallID: "acknowledged"}); !errors.Is(err, ErrBuried) {
		t.Fatalf("a tombstone let a claim through: %v", err)
	}
	if _, err := again.Claim(Claim{CallID: "ended"}); !errors.Is(err, ErrClaimed) {
		t.Fatalf("a record let a claim through: %v", err)
	}
}

func TestAFullSpoolRefusesAndAcknowledgingMakesRoom(t *testing.T) {
	spool := open(t, filepath.Join(t.TempDir(), "spool"))
	entry, err := spool.Claim(Claim{CallID: "big"})
	if err != nil {
		t.Fatal(err)
	}
	file, err := entry.Create("stdout")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.Write(make([]byte, 1000)); err != nil || spool.Grow(900) != 900 || spool.Grow(101) != 100 {
		t.Fatal("the limit itself must fit")
	}
	if spool.Grow(1) != 0 {
		t.Fatal("one byte more must not fit")
	}
	if _, err := spool.Claim(Claim{CallID: "next"}); !errors.Is(err, ErrFull) {
		t.Fatalf("claimed on a full spool: %v", err)
	}
	if err := entry.Bury(); err != nil {
		t.Fatal(err)
	}
	if _, err := spool.Claim(Claim{CallID: "next"}); err != nil {
		t.Fatal(err)
	}
}

func TestAForeignDirectoryIsRefused(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "spool")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, 1); err == nil {
		t.Fatal("a spool that others may read was accepted")
	}
}
