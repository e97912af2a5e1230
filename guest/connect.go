package main

import (
	"flag"
	"fmt"
	"os"
	"syscall"
	"time"

	"holdfast/guest/internal/spool"
)

const (
	// bridgeThreads: two that block, and a few for the runtime. Like the supervisor, the bridge must not need a new
	// thread at the limit of processes, or the host loses its channel just then.
	bridgeThreads = 6
	bridgeBytes   = 256 * 1024
	// The most that Linux allows without privileges.
	bridgePipeBytes = 1024 * 1024
)

// connect is a pipe between a host and the supervisor, nothing more.
func connect(arguments []string) int {
	flags := flag.NewFlagSet("connect", flag.ContinueOnError)
	dir := flags.String("spool", defaultSpool, "where calls are kept")
	waitMs := flags.Int64("wait-ms", 5000, "how long a supervisor that just started may take")
	if err := flags.Parse(arguments); err != nil || flags.NArg() > 0 {
		fmt.Fprint(os.Stderr, usage)
		return exitUsage
	}
	startThreads(bridgeThreads)
	socket, err := dial(spool.Socket(*dir), time.Duration(*waitMs)*time.Millisecond)
	if err != nil {
		fmt.Fprintln(os.Stderr, "holdfast-guest: no supervisor reachable:", err)
		return exitUnavailable
	}
	// The engine's relay reads small pieces: a larger pipe lets both sides run instead of taking turns. It is only
	// faster, so a kernel that refuses is fine.
	_, _, _ = syscall.Syscall(syscall.SYS_FCNTL, uintptr(syscall.Stdout), syscall.F_SETPIPE_SZ, bridgePipeBytes)
	ended := make(chan struct{}, 2)
	go func() { bridge(syscall.Stdin, socket); ended <- struct{}{} }()
	go func() { bridge(socket, syscall.Stdout); ended <- struct{}{} }()
	<-ended
	return 0
}

// dial returns a blocking descriptor: each direction has its thread, and nothing else goes on here.
func dial(path string, wait time.Duration) (int, error) {
	socket, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	for until := time.Now().Add(wait); ; {
		err := syscall.Connect(socket, &syscall.SockaddrUnix{Name: path})
		if err == nil {
			return socket, nil
		}
		if time.Now().After(until) {
			return -1, fmt.Errorf("%s: %w", path, err)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// bridge moves bytes until one side ends. An error is the other side's end: whoever is left finds out by the end of
// its stream. Not splice(2): while it waits for the socket it keeps the reader out of the pipe.
func bridge(from, to int) {
	buffer := make([]byte, bridgeBytes)
	for {
		n, err := syscall.Read(from, buffer)
		if err == syscall.EINTR {
			continue
		}
		if err != nil || n == 0 || !writeAll(to, buffer[:n]) {
			return
		}
	}
}

func writeAll(to int, content []byte) bool {
	for len(content) > 0 {
		n, err := syscall.Write(to, content)
		if err != nil && err != syscall.EINTR {
			return false
		}
		content = content[max(n, 0):]
	}
	return true
}
