package server

import (
	"context"
	"fmt"
	"sync"

	"holdfast/guest/internal/frame"
)

// maxCredit bounds what a host may grant at once; more is a mistake or an attack on the counter.
const maxCredit = 1 << 40

// credit counts what may still be sent. One goroutine takes, the channel's reader grants.
type credit struct {
	mutex   sync.Mutex
	left    int64
	changed chan struct{}
}

func newCredit() *credit { return &credit{changed: make(chan struct{}, 1)} }

func (c *credit) grant(bytes int64) error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if bytes < 0 || c.left+bytes > maxCredit {
		return fmt.Errorf("%w: credit of %d bytes", frame.ErrMalformed, bytes)
	}
	c.left += bytes
	select {
	case c.changed <- struct{}{}:
	default:
	}
	return nil
}

// wait returns how much may be sent, at least 1, or an error when the request was given up.
func (c *credit) wait(ctx context.Context) (int64, error) {
	for {
		c.mutex.Lock()
		left := c.left
		c.mutex.Unlock()
		if left > 0 {
			return left, nil
		}
		select {
		case <-c.changed:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

func (c *credit) spend(bytes int) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.left -= int64(bytes)
}
