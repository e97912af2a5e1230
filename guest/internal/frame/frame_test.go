package frame

import (
	"bytes"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
)

func readAll(t *testing.T, input string) ([]*Frame, error) {
	t.Helper()
	reader := NewReader(strings.NewReader(input))
	var frames []*Frame
	for {
		frame, err := reader.Next()
		if err != nil {
			return frames, err
		}
		frames = append(frames, frame)
	}
}

func TestFramesKeepTheirBytes(t *testing.T) {
	frames, err := readAll(t, "{\"id\":1,\"op\":\"run\",\"bytes\":4}\na\n\x00b{\"type\":\"credit\",\"id\":1}\n")
	if !errors.Is(err, io.EOF) || len(frames) != 2 {
		t.Fatalf("got %d frames, %v", len(frames), err)
	}
	if string(frames[0].Payload) != "a\n\x00b" || frames[0].Op != "run" || frames[1].Type != "credit" {
		t.Fatalf("got %+v and %+v", frames[0], frames[1])
	}
}

func TestTruncatedFramesAreNeverHandedOut(t *testing.T) {
	whole := "{\"id\":1,\"op\":\"run\",\"bytes\":4}\nabcd"
	for cut := 1; cut < len(whole); cut++ {
		frames, err := readAll(t, whole[:cut])
		if len(frames) != 0 || !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatalf("cut at %d: %d frames, %v", cut, len(frames), err)
		}
	}
}

func TestHostileFramesAreRefused(t *testing.T) {
	for name, input := range map[string]string{
		"negative length":  "{\"bytes\":-1}\n",
		"huge length":      "{\"bytes\":8388609}\n",
		"fractional bytes": "{\"bytes\":1.5}\n",
		"overflow":         "{\"bytes\":99999999999999999999}\n",
		"not an object":    "[1]\n",
		"empty line":       "\n",
		"no JSON":          "GET / HTTP/1.1\n",
		"endless line":     "{\"a\":\"" + strings.Repeat("x", MaxHeaderBytes) + "\"}\n",
		"wrong type of id": "{\"id\":\"1\"}\n",
	} {
		if _, err := readAll(t, input); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestWriterAndReaderAgree(t *testing.T) {
	ours, theirs := net.Pipe()
	payload := bytes.Repeat([]byte{0, '\n', 0xff}, 50_000)
	go func() {
		writer := NewWriter(ours)
		_ = writer.Send(map[string]any{"type": "data", "bytes": len(payload)}, payload)
		_ = ours.Close()
	}()
	frame, err := NewReader(theirs).Next()
	if err != nil || !bytes.Equal(frame.Payload, payload) {
		t.Fatalf("got %v", err)
	}
}

func FuzzReader(f *testing.F) {
	f.Add([]byte("{\"id\":1,\"bytes\":3}\nabc"))
	f.Add([]byte("{\"bytes\":8388608}\n"))
	f.Add([]byte("{}\n{}\n"))
	f.Fuzz(func(t *testing.T, input []byte) {
		reader := NewReader(bytes.NewReader(input))
		for consumed := 0; ; {
			frame, err := reader.Next()
			if err != nil {
				return
			}
			consumed += len(frame.Line) + 1 + len(frame.Payload)
			if int64(len(frame.Payload)) != frame.Bytes || consumed > len(input) {
				t.Fatalf("%d bytes of payload, %d announced, %d of %d read", len(frame.Payload), frame.Bytes, consumed, len(input))
			}
		}
	})
}
