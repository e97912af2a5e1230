// Package frame reads and writes the frames of PROTOCOL.md: one line of JSON, then an exact count of bytes.
package frame

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

const (
	// MaxHeaderBytes holds a recorded edit with its diff, and a path in escaped form.
	MaxHeaderBytes = 256 * 1024
	// MaxPayloadBytes holds the largest script with its environment.
	MaxPayloadBytes = 8 * 1024 * 1024
)

// ErrMalformed says that the peer doesn't speak the protocol: nothing after this can be trusted.
var ErrMalformed = errors.New("malformed frame")

// Head is what every frame has. The rest of the line is read by whoever knows the type.
type Head struct {
	Type  string `json:"type"`
	Op    string `json:"op"`
	ID    int64  `json:"id"`
	Bytes int64  `json:"bytes"`
}

// Frame is one complete frame: a truncated one is never handed out.
type Frame struct {
	Head
	Line    []byte
	Payload []byte
}

// Decode reads the op's own fields from the line.
func (f *Frame) Decode(into any) error {
	if err := json.Unmarshal(f.Line, into); err != nil {
		return fmt.Errorf("%w: %v", ErrMalformed, err)
	}
	return nil
}

// Reader takes frames from a stream of bytes that nobody vouches for.
type Reader struct{ source *bufio.Reader }

// NewReader reads ahead of what it returns: nobody else may read from source.
func NewReader(source io.Reader) *Reader {
	return &Reader{source: bufio.NewReaderSize(source, 64*1024)}
}

// Next returns io.EOF only between frames, io.ErrUnexpectedEOF inside one.
func (r *Reader) Next() (*Frame, error) {
	line, err := r.line()
	if err != nil {
		return nil, err
	}
	frame := &Frame{Line: line}
	if len(line) == 0 || line[0] != '{' {
		return nil, fmt.Errorf("%w: the line is not a JSON object", ErrMalformed)
	}
	if err := json.Unmarshal(line, &frame.Head); err != nil {
		return nil, fmt.Errorf("%w: %v", ErrMalformed, err)
	}
	if frame.Bytes < 0 || frame.Bytes > MaxPayloadBytes {
		return nil, fmt.Errorf("%w: a payload of %d bytes", ErrMalformed, frame.Bytes)
	}
	frame.Payload, err = r.payload(frame.Bytes)
	return frame, err
}

func (r *Reader) line() ([]byte, error) {
	var line []byte
	for {
		part, err := r.source.ReadSlice('\n')
		if len(line)+len(part) > MaxHeaderBytes {
			return nil, fmt.Errorf("%w: a line above %d bytes", ErrMalformed, MaxHeaderBytes)
		}
		line = append(line, part...)
		switch {
		case err == nil:
			return bytes.TrimSuffix(line, []byte("\n")), nil
		case errors.Is(err, io.EOF) && len(line) > 0:
			return nil, io.ErrUnexpectedEOF
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

// payload grows with what arrives: a length alone must not cost memory.
func (r *Reader) payload(size int64) ([]byte, error) {
	if size == 0 {
		return nil, nil
	}
	var buffer bytes.Buffer
	buffer.Grow(int(min(size, 64*1024)))
	if _, err := io.CopyN(&buffer, r.source, size); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, io.ErrUnexpectedEOF
		}
		return nil, err
	}
	return buffer.Bytes(), nil
}
