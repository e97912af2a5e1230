package server

import (
	"errors"
	"io"
	"os"

	"holdfast/guest/internal/call"
	"holdfast/guest/internal/fault"
)

// maxOutputBytes is the payload of one output frame.
const maxOutputBytes = 256 * 1024

func follow(r *request) (work, error) {
	var asked struct {
		CallID string `json:"callId"`
		Stdout int64  `json:"stdout"`
		Stderr int64  `json:"stderr"`
		Credit int64  `json:"credit"`
	}
	if err := r.frame.Decode(&asked); err != nil {
		return nil, err
	}
	if err := r.credit.grant(asked.Credit); err != nil {
		return nil, err
	}
	return func() (fields, []byte, error) {
		target, failure := r.channel.server.Calls.Find(asked.CallID)
		if failure != nil {
			return nil, nil, failure
		}
		end, err := r.deliver(target, [2]int64{asked.Stdout, asked.Stderr})
		return fields{"end": end}, nil, err
	}, nil
}

// deliver sends what there is, waits for more, and returns when the call has ended and all of it was sent.
func (r *request) deliver(target *call.Call, offsets [2]int64) (*call.End, error) {
	files := outputs{}
	defer files.close()
	buffer := []byte(nil)
	for view := target.View(); ; view = target.View() {
		pending := 0
		for index := range offsets {
			if offsets[index] > view.Sizes[index] || offsets[index] < 0 {
				return nil, fault.New(fault.InvalidRequest, "%s has %d bytes, not %d",
					call.Streams[index], view.Sizes[index], offsets[index]).OnField(call.Streams[index])
			}
			if offsets[index] == view.Sizes[index] {
				continue
			}
			pending++
			if buffer == nil {
				buffer = make([]byte, maxOutputBytes)
			}
			// Not before there is output: a follow that comes together with its run is earlier than the files.
			if err := files.open(target, index); err != nil {
				return nil, err
			}
			sent, err := r.part(files[index], index, offsets[index], view.Sizes[index], buffer)
			if err != nil {
				return nil, err
			}
			offsets[index] += int64(sent)
		}
		if pending > 0 {
			continue
		}
		if view.End != nil {
			return view.End, nil
		}
		select {
		case <-view.Changed:
		case <-r.context.Done():
			return nil, r.context.Err()
		}
	}
}

func (r *request) part(file *os.File, index int, offset, size int64, buffer []byte) (int, error) {
	allowed, err := r.credit.wait(r.context)
	if err != nil {
		return 0, err
	}
	content := buffer[:min(allowed, size-offset, int64(len(buffer)))]
	n, err := file.ReadAt(content, offset)
	if n == 0 && errors.Is(err, io.EOF) {
		return 0, fault.New(fault.Internal, "the spool lost output of this call")
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	r.credit.spend(n)
	return n, r.send("output", fields{"stream": call.Streams[index], "offset": offset}, content[:n])
}

// outputs keeps files open: an acknowledgement by another host doesn't take them away in the middle.
type outputs [2]*os.File

func (o *outputs) open(target *call.Call, index int) (err error) {
	if o[index] == nil {
		o[index], err = target.Entry().Open(call.Streams[index])
	}
	return err
}

func (o *outputs) close() {
	for _, file := range o {
		if file != nil {
			_ = file.Close()
		}
	}
}
