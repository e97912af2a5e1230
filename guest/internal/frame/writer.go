package frame

import (
	"encoding/json"
	"fmt"
	"net"
	"sync"
	"time"
)

// A peer that takes nothing for so long is gone; what it wanted is in the spool. Longer than a worker that is
// stopped and continued, so that its channel survives.
const stuckAfter = 5 * time.Minute

// Writer sends whole frames, one at a time.
type Writer struct {
	mutex  sync.Mutex
	target net.Conn
}

// NewWriter takes over the writing side of target.
func NewWriter(target net.Conn) *Writer { return &Writer{target: target} }

// Send writes head as the line, and payload after it. Head must be an object whose "bytes" is len(payload).
func (w *Writer) Send(head any, payload []byte) error {
	line, err := json.Marshal(head)
	if err != nil {
		return fmt.Errorf("encode frame: %w", err)
	}
	buffers := net.Buffers{append(line, '\n')}
	if len(payload) > 0 {
		buffers = append(buffers, payload)
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if err := w.target.SetWriteDeadline(time.Now().Add(stuckAfter)); err != nil {
		return err
	}
	_, err = buffers.WriteTo(w.target)
	if err != nil {
		// Half a frame may be out: the rest of the stream would be read as something else.
		_ = w.target.Close()
	}
	return err
}
