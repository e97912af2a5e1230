package server

import (
	"context"
	"fmt"
	"sync"

	"holdfast/guest/internal/frame"
)

const (
	// windowBytes is what a host may have under way of one write.
	windowBytes  = 1 << 20
	maxDataBytes = 256 * 1024
)

// inbox holds the frames of one write until the disk took them. It never blocks the channel's reader: the window
// bounds it, and a host that ignores the window loses the channel.
type inbox struct {
	mutex   sync.Mutex
	frames  []*frame.Frame
	held    int
	changed chan struct{}
}

func newInbox() *inbox { return &inbox{changed: make(chan struct{}, 1)} }

func (i *inbox) put(next *frame.Frame) error {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	i.held += len(next.Payload)
	// Empty frames are counted by the slice: they cost memory, too.
	if len(next.Payload) > maxDataBytes || i.held > windowBytes || len(i.frames) > windowBytes/1024 {
		return fmt.Errorf("%w: more data than the window of a write", frame.ErrMalformed)
	}
	i.frames = append(i.frames, next)
	select {
	case i.changed <- struct{}{}:
	default:
	}
	return nil
}

// next waits for a frame. Its bytes are out of the window when the caller says so by free.
func (i *inbox) next(ctx context.Context) (*frame.Frame, error) {
	for {
		i.mutex.Lock()
		if len(i.frames) > 0 {
			first := i.frames[0]
			i.frames = i.frames[1:]
			i.mutex.Unlock()
			return first, nil
		}
		i.mutex.Unlock()
		select {
		case <-i.changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (i *inbox) free(bytes int) {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	i.held -= bytes
}
