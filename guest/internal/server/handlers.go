package server

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"syscall"
	"time"

	"holdfast/guest/internal/call"
	"holdfast/guest/internal/fault"
	"holdfast/guest/internal/frame"
	"holdfast/guest/internal/user"
)

// maxGraceMs bounds how long a kill may wait between TERM and KILL.
const maxGraceMs = 60_000

// handler does what must happen in the order of the frames and returns the rest. An error ends the channel.
type handler func(*request) (work, error)

var handlers map[string]handler

func init() {
	handlers = map[string]handler{
		"run": run, "follow": follow, "kill": kill, "ack": acknowledge, "calls": list, "stop": stop,
		"write": writeFile, "recorded": recorded,
		"read": onFiles(readFile), "stat": onFiles(statFile), "list": onFiles(listFiles), "walk": onFiles(walkFiles),
		"mkdir": onFiles(makeDirectory), "rename": onFiles(renameFile), "remove": onFiles(removeFile),
	}
}

func run(r *request) (work, error) {
	var asked struct {
		CallID           string `json:"callId"`
		Cwd              string `json:"cwd"`
		TimeoutMs        int64  `json:"timeoutMs"`
		OutputLimitBytes int64  `json:"outputLimitBytes"`
		EnvBytes         int64  `json:"envBytes"`
		Sha256           string `json:"sha256"`
		User             string `json:"user"`
		Privileged       bool   `json:"privileged"`
	}
	if err := r.frame.Decode(&asked); err != nil {
		return nil, err
	}
	payload := r.frame.Payload
	if asked.EnvBytes < 0 || asked.EnvBytes > int64(len(payload)) {
		return nil, fmt.Errorf("%w: envBytes of %d", frame.ErrMalformed, asked.EnvBytes)
	}
	env, script := payload[:asked.EnvBytes], payload[asked.EnvBytes:]
	if sum := sha256.Sum256(script); hex.EncodeToString(sum[:]) != asked.Sha256 {
		return done(fault.New(fault.InvalidRequest, "the script doesn't have the hash it was sent with").OnField("sha256")), nil
	}
	if failure := call.CheckID(asked.CallID); failure != nil {
		return done(failure), nil
	}
	as, failure := r.channel.server.account(asked.User, asked.Privileged)
	if failure != nil {
		return done(failure), nil
	}
	request := &call.Request{CallID: asked.CallID, Script: script, Cwd: asked.Cwd, TimeoutMs: asked.TimeoutMs,
		OutputLimitBytes: asked.OutputLimitBytes, KeepPrivileges: asked.Privileged, As: as}
	if len(env) > 0 {
		request.Env = strings.Split(string(bytes.TrimSuffix(env, []byte{0})), "\x00")
	}
	found, start, failure := r.channel.server.Calls.Begin(request)
	return func() (fields, []byte, error) {
		switch {
		case failure != nil:
			return nil, nil, failure
		case start == nil:
			if failure := found.Refused(); failure != nil {
				return nil, nil, failure
			}
			return fields{"state": "attached"}, nil, nil
		}
		if failure := start(); failure != nil {
			return nil, nil, failure
		}
		return fields{"state": "started"}, nil, nil
	}, nil
}

// account: the session user, or root where a template is set up.
func (s *Server) account(name string, privileged bool) (*user.Threads, *fault.Fault) {
	switch {
	case name == "root":
		return s.Root, nil
	case name == "" && !privileged:
		return s.Session, nil
	}
	return nil, fault.New(fault.InvalidRequest, "commands run as the session user or as root, not as %q", name).OnField("user")
}

func kill(r *request) (work, error) {
	var asked struct {
		CallID  string `json:"callId"`
		GraceMs int64  `json:"graceMs"`
		Cause   string `json:"cause"`
	}
	if err := r.frame.Decode(&asked); err != nil {
		return nil, err
	}
	if failure := call.CheckID(asked.CallID); failure != nil {
		return done(failure), nil
	}
	switch asked.Cause {
	case "cancelCall", "stop", "delete", "workflow-cancel":
	default:
		return done(fault.New(fault.InvalidRequest, "no such cause %.40q", asked.Cause).OnField("cause")), nil
	}
	return func() (fields, []byte, error) {
		if failure := r.channel.server.Calls.Kill(asked.CallID, asked.Cause, grace(asked.GraceMs)); failure != nil {
			return nil, nil, failure
		}
		return nil, nil, nil
	}, nil
}

func grace(ms int64) time.Duration {
	return time.Duration(max(0, min(ms, maxGraceMs))) * time.Millisecond
}

func acknowledge(r *request) (work, error) {
	var callIDs []string
	if err := json.Unmarshal(r.frame.Payload, &callIDs); err != nil {
		return nil, fmt.Errorf("%w: %v", frame.ErrMalformed, err)
	}
	return func() (fields, []byte, error) {
		r.channel.server.Calls.Acknowledge(callIDs)
		return nil, nil, nil
	}, nil
}

func list(r *request) (work, error) {
	return func() (fields, []byte, error) {
		var lines bytes.Buffer
		encoder := json.NewEncoder(&lines)
		for _, line := range r.channel.server.Calls.List() {
			if err := encoder.Encode(line); err != nil {
				return nil, nil, err
			}
		}
		return nil, nil, r.data(lines.Bytes())
	}, nil
}

func stop(r *request) (work, error) {
	var asked struct {
		GraceMs int64 `json:"graceMs"`
	}
	if err := r.frame.Decode(&asked); err != nil {
		return nil, err
	}
	return func() (fields, []byte, error) {
		r.channel.server.Calls.Stop(grace(asked.GraceMs))
		syscall.Sync()
		return nil, nil, nil
	}, nil
}
