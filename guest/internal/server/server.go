// Package server speaks PROTOCOL.md with hosts.
package server

import (
	"net"
	"sync"

	"holdfast/guest/internal/call"
	"holdfast/guest/internal/fault"
	"holdfast/guest/internal/frame"
	"holdfast/guest/internal/user"
)

// Protocol is the version this guest speaks.
const Protocol = 1

// maxChannels bounds what stuck hosts can hold on to.
const maxChannels = 64

// Server answers on every channel with the same calls and files.
type Server struct {
	Calls   *call.Calls
	Session *user.Threads
	Root    *user.Threads
	// Build is the hash of this program.
	Build string

	mutex    sync.Mutex
	channels map[*channel]struct{}
}

type hello struct {
	Type         string    `json:"type"`
	Protocol     int       `json:"protocol"`
	Build        string    `json:"build"`
	Epoch        string    `json:"epoch"`
	Capabilities []string  `json:"capabilities"`
	Poisoned     bool      `json:"poisoned"`
	Stopping     bool      `json:"stopping"`
	User         user.User `json:"user"`
}

// Serve takes channels until the listener is closed.
func (s *Server) Serve(listener *net.UnixListener) {
	s.channels = map[*channel]struct{}{}
	for {
		connection, err := listener.AcceptUnix()
		if err != nil {
			return
		}
		// Only root gets to the socket's directory; this is for the day when somebody moves it.
		if !fromRoot(connection) || !s.admit(connection) {
			_ = connection.Close()
		}
	}
}

func (s *Server) admit(connection net.Conn) bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if len(s.channels) >= maxChannels {
		// Best effort: whoever gets the end of the stream alone tries again as well.
		_ = frame.NewWriter(connection).Send(fatal(fault.Busy, "too many channels are open"), nil)
		return false
	}
	opened := newChannel(s, connection)
	s.channels[opened] = struct{}{}
	go func() {
		opened.serve()
		s.mutex.Lock()
		defer s.mutex.Unlock()
		delete(s.channels, opened)
	}()
	return true
}

func fatal(code fault.Code, message string) any {
	return map[string]any{"type": "fatal", "code": code, "message": message}
}

func (s *Server) hello() hello {
	return hello{
		Type: "hello", Protocol: Protocol, Build: s.Build, Epoch: s.Calls.Epoch(),
		Capabilities: []string{"run", "files", "record", "walk"},
		Poisoned:     s.Calls.Poisoned(), Stopping: s.Calls.Stopping(), User: s.Session.User(),
	}
}
