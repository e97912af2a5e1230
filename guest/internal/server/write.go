package server

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"hash"

	"holdfast/guest/internal/call"
	"holdfast/guest/internal/fault"
	"holdfast/guest/internal/files"
)

type recordAsked struct {
	CallID      string          `json:"callId"`
	RequestHash string          `json:"requestHash"`
	Result      json.RawMessage `json:"result"`
}

type writeAsked struct {
	fileRequest
	MakeDirMode uint32       `json:"makeDirMode"`
	Record      *recordAsked `json:"record"`
}

func writeFile(r *request) (work, error) {
	asked := &writeAsked{}
	if err := r.frame.Decode(asked); err != nil {
		return nil, err
	}
	return func() (fields, []byte, error) {
		if err := asked.check(r.channel.server); err != nil {
			return nil, nil, err
		}
		recording, earlier, err := r.beginRecord(asked.Record)
		if err != nil {
			return nil, nil, err
		}
		if earlier != nil {
			return fields{"created": earlier.Created, "sizeBytes": earlier.SizeBytes, "replayed": true}, nil, nil
		}
		if recording != nil {
			defer recording.Close()
		}
		record, err := r.replace(asked, recording)
		return fields{"created": record.Created, "sizeBytes": record.SizeBytes, "replayed": false}, nil, err
	}, nil
}

func (r *request) beginRecord(asked *recordAsked) (*call.Recording, *call.Record, error) {
	if asked == nil {
		return nil, nil, nil
	}
	if failure := call.CheckID(asked.CallID); failure != nil {
		return nil, nil, failure
	}
	recording, earlier, failure := r.channel.server.Calls.BeginWrite(asked.CallID, asked.RequestHash, r.channel.server.unsettled)
	if failure != nil {
		return nil, nil, failure
	}
	return recording, earlier, nil
}

// replace takes the content to its end, and only then touches the file.
func (r *request) replace(asked *writeAsked, recording *call.Recording) (record call.Record, err error) {
	target, err := asked.view.Replace(asked.Path, asked.Mode, asked.MakeDirMode&0o777)
	if err != nil {
		return record, err
	}
	defer target.Discard()
	if err := r.receive(target); err != nil {
		return record, err
	}
	record = call.Record{Created: target.Created(), SizeBytes: target.Size()}
	scrap, err := target.Settle()
	if err != nil {
		return record, err
	}
	if recording == nil {
		return record, target.Commit()
	}
	record.Result = asked.Record.Result
	if err := recording.Intend(call.Intent{Record: record, Scrap: scrap, AsRoot: asked.As == "root"}); err != nil {
		return record, fault.From(err, "record the write")
	}
	if err := target.Commit(); err != nil {
		// Before the scrap goes: an intent without a scrap means that the write happened.
		recording.Withdraw()
		return record, err
	}
	recording.Done(record)
	return record, nil
}

func (r *request) receive(target *files.Replacement) error {
	sum := sha256.New()
	for {
		next, err := r.inbox.next(r.context)
		if err != nil {
			return err
		}
		if next.Type == "end" {
			var end struct {
				SizeBytes int64  `json:"sizeBytes"`
				Sha256    string `json:"sha256"`
			}
			if err := next.Decode(&end); err != nil {
				return fault.New(fault.InvalidRequest, "%v", err)
			}
			return agree(target.Size(), sum, end.SizeBytes, end.Sha256)
		}
		if err := target.Write(next.Payload); err != nil {
			return err
		}
		_, _ = sum.Write(next.Payload)
		r.inbox.free(len(next.Payload))
		if err := r.send("credit", fields{"credit": len(next.Payload)}, nil); err != nil {
			return err
		}
	}
}

func agree(size int64, sum hash.Hash, saidSize int64, saidSum string) error {
	if size != saidSize || hex.EncodeToString(sum.Sum(nil)) != saidSum {
		return fault.New(fault.InvalidRequest, "%d bytes arrived that are not the %d that were announced", size, saidSize).
			WithHint("The old content is untouched; send the file again.")
	}
	return nil
}

func recorded(r *request) (work, error) {
	asked := recordAsked{}
	if err := r.frame.Decode(&asked); err != nil {
		return nil, err
	}
	return func() (fields, []byte, error) {
		if failure := call.CheckID(asked.CallID); failure != nil {
			return nil, nil, failure
		}
		record, failure := r.channel.server.Calls.Recorded(asked.CallID, asked.RequestHash, r.channel.server.unsettled)
		if failure != nil {
			return nil, nil, failure
		}
		return fields{"record": record}, nil, nil
	}, nil
}

// unsettled: the new content is still beside the file, or it has become the file.
func (s *Server) unsettled(intent call.Intent) (happened bool, drop func() error, err error) {
	threads := s.Session
	if intent.AsRoot {
		threads = s.Root
	}
	view := files.NewView(threads, nil)
	there, err := view.Exists(intent.Scrap)
	return !there, func() error { return view.Drop(intent.Scrap) }, err
}
