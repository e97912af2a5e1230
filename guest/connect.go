package main

import (
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"holdfast/guest/internal/spool"
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
	connection, err := dial(spool.Socket(*dir), time.Duration(*waitMs)*time.Millisecond)
	if err != nil {
		fmt.Fprintln(os.Stderr, "holdfast-guest: no supervisor reachable:", err)
		return exitUnavailable
	}
	ended := make(chan struct{}, 2)
	go func() {
		// Errors are the other side's end: whoever is left finds out by the end of the stream.
		_, _ = io.Copy(connection, os.Stdin)
		ended <- struct{}{}
	}()
	go func() {
		_, _ = io.Copy(os.Stdout, connection)
		ended <- struct{}{}
	}()
	<-ended
	return 0
}

func dial(path string, wait time.Duration) (*net.UnixConn, error) {
	for until := time.Now().Add(wait); ; {
		connection, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
		if err == nil || time.Now().After(until) {
			return connection, err
		}
		time.Sleep(5 * time.Millisecond)
	}
}
