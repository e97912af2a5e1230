// The holdfast guest: supervises the commands of one sandbox. See PROTOCOL.md.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"holdfast/guest/internal/process"
	"holdfast/guest/internal/server"
)

const usage = `usage: holdfast-guest supervise [--user NAME|UID] [--spool DIR] [--spool-bytes N]
       holdfast-guest connect [--spool DIR] [--wait-ms N]
       holdfast-guest version
`

// Exit codes, after sysexits.h.
const (
	exitUsage       = 64
	exitUnavailable = 69
	exitInternal    = 70
)

const (
	defaultSpool = "/var/lib/holdfast"
	defaultUser  = "1000"
)

func main() { os.Exit(dispatch(os.Args[1:])) }

func dispatch(arguments []string) int {
	if len(arguments) == 0 {
		fmt.Fprint(os.Stderr, usage)
		return exitUsage
	}
	switch arguments[0] {
	case "exec":
		// Only the supervisor starts this, with descriptors that nobody else can give it.
		return process.Trampoline()
	case "supervise":
		return supervise(arguments[1:])
	case "connect":
		return connect(arguments[1:])
	case "version":
		return version()
	}
	fmt.Fprint(os.Stderr, usage)
	return exitUsage
}

func version() int {
	build, err := buildHash()
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(map[string]any{"protocol": server.Protocol, "build": build})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "holdfast-guest:", err)
		return exitInternal
	}
	return 0
}
