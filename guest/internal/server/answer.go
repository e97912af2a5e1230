package server

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"holdfast/guest/internal/fault"
)

// fields are an answer's own, beside type, id and bytes.
type fields map[string]any

// work is the part of a request that runs beside others. It sends what comes before the final frame by itself.
type work func() (fields, []byte, error)

func errorFrame(id int64, failure *fault.Fault) any {
	return struct {
		Type string `json:"type"`
		ID   int64  `json:"id"`
		*fault.Fault
	}{"error", id, failure}
}

// answer runs the work and sends exactly one final frame. Send errors end the channel by themselves.
func (r *request) answer(run work) {
	result, payload, err := guarded(run)
	switch {
	case errors.Is(err, context.Canceled):
		_ = r.channel.writer.Send(errorFrame(r.frame.ID, fault.New(fault.Closed, "the request was given up")), nil)
	case err != nil:
		_ = r.channel.writer.Send(errorFrame(r.frame.ID, fault.From(err, r.frame.Op)), nil)
	default:
		kind := "result"
		if _, ended := result["end"]; ended {
			kind = "end"
		}
		_ = r.send(kind, result, payload)
	}
}

// guarded keeps a defect in one request from ending the guest, and with it every command.
func guarded(run work) (result fields, payload []byte, err error) {
	defer func() {
		if reason := recover(); reason != nil {
			err = fault.New(fault.Internal, "the guest failed: %v", reason)
		}
	}()
	return run()
}

func (r *request) send(kind string, more fields, payload []byte) error {
	head := fields{"type": kind, "id": r.frame.ID}
	if len(payload) > 0 {
		head["bytes"] = len(payload)
	}
	maps.Copy(head, more)
	return r.channel.writer.Send(head, payload)
}

// data sends a long answer in parts.
func (r *request) data(content []byte) error {
	for len(content) > 0 {
		part := content[:min(len(content), maxDataBytes)]
		if err := r.send("data", nil, part); err != nil {
			return fmt.Errorf("send data: %w", err)
		}
		content = content[len(part):]
	}
	return nil
}

func done(err error) work { return func() (fields, []byte, error) { return nil, nil, err } }
