package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"

	"holdfast/guest/internal/call"
	"holdfast/guest/internal/process"
	"holdfast/guest/internal/server"
	"holdfast/guest/internal/spool"
	"holdfast/guest/internal/sys"
	"holdfast/guest/internal/user"
)

const (
	// spareThreads exist from the start: at the limit of processes the runtime could not make another, and a Go
	// program dies of that. Waiting for pipes and sockets holds none.
	spareThreads = 24
	// Threads for file work, apart from the spare ones: four slow file operations of the session at once.
	sessionThreads = 4
	rootThreads    = 2
	defaultBytes   = 4 << 30
	// stopGrace is for commands when the sandbox is stopped by its engine, which waits 10 s by default.
	stopGrace = 2 * time.Second
)

func supervise(arguments []string) int {
	flags := flag.NewFlagSet("supervise", flag.ContinueOnError)
	session := flags.String("user", defaultUser, "who commands run as")
	dir := flags.String("spool", defaultSpool, "where calls are kept")
	maxBytes := flags.Int64("spool-bytes", defaultBytes, "most output kept at once")
	if err := flags.Parse(arguments); err != nil || flags.NArg() > 0 || *maxBytes <= 0 {
		fmt.Fprint(os.Stderr, usage)
		return exitUsage
	}
	if err := guard(*session, *dir, *maxBytes); err != nil {
		fmt.Fprintln(os.Stderr, "holdfast-guest:", err)
		return exitInternal
	}
	return 0
}

// guard lives as long as the sandbox.
func guard(sessionUser, dir string, maxBytes int64) error {
	// First of all: a stop must not find the default action.
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, syscall.SIGINT)
	startThreads(spareThreads)
	syscall.Umask(0o022)
	if err := keepDescriptors(); err != nil {
		return fmt.Errorf("keep inherited descriptors from commands: %w", err)
	}
	account, err := user.Find(sessionUser)
	if err != nil {
		return err
	}
	if err := sys.BecomeSubreaper(); err != nil {
		return fmt.Errorf("become subreaper: %w", err)
	}
	build, err := buildHash()
	if err != nil {
		return err
	}
	sessionFiles, err := user.NewThreads(account, sessionThreads)
	if err != nil {
		return err
	}
	rootFiles, err := user.NewThreads(user.Root(), rootThreads)
	if err != nil {
		return err
	}
	store, err := spool.Open(dir, maxBytes)
	if err != nil {
		return err
	}
	calls, err := call.Open(store, process.NewReaper())
	if err != nil {
		return err
	}
	listener, err := listen(spool.Socket(dir))
	if err != nil {
		return err
	}
	served := &server.Server{Calls: calls, Session: sessionFiles, Root: rootFiles, Build: build}
	go served.Serve(listener)
	<-stop
	// New channels are refused, those that are open still get the ends of their calls.
	_ = listener.Close()
	calls.Stop(stopGrace)
	syscall.Sync()
	return nil
}

// keepDescriptors keeps what the guest itself inherited: no command gets a descriptor it wasn't meant to have.
func keepDescriptors() error {
	names, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	for _, name := range names {
		if fd, err := strconv.Atoi(name.Name()); err == nil && fd > 2 {
			syscall.CloseOnExec(fd)
		}
	}
	return nil
}

func listen(path string) (*net.UnixListener, error) {
	// An earlier guest of this sandbox left it; two at once are kept apart by the sandbox's own start.
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
}

// startThreads makes the runtime create threads, which it keeps.
func startThreads(count int) {
	var ready, all sync.WaitGroup
	ready.Add(count)
	all.Add(count)
	for range count {
		go func() {
			defer all.Done()
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			ready.Done()
			// A locked goroutine that waits keeps its thread from the others, so each gets one of its own.
			ready.Wait()
		}()
	}
	all.Wait()
}

func buildHash() (string, error) {
	file, err := os.Open("/proc/self/exe")
	if err != nil {
		return "", err
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
