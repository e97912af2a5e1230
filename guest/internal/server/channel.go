package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"

	"holdfast/guest/internal/fault"
	"holdfast/guest/internal/frame"
)

// maxOpen bounds the requests under way on one channel.
const maxOpen = 256

// channel is one connection of a host. Its death ends its requests, never a command.
type channel struct {
	server *Server
	conn   net.Conn
	reader *frame.Reader
	writer *frame.Writer

	mutex sync.Mutex
	last  int64
	open  map[int64]*request
}

// request is one id under way.
type request struct {
	channel *channel
	frame   *frame.Frame
	context context.Context
	cancel  context.CancelFunc
	// credit is what the host lets us send, for follows.
	credit *credit
	// inbox is what the host sends after the request, for writes.
	inbox *inbox
}

func newChannel(server *Server, conn net.Conn) *channel {
	return &channel{server: server, conn: conn, reader: frame.NewReader(conn), writer: frame.NewWriter(conn),
		open: map[int64]*request{}}
}

func (c *channel) serve() {
	defer c.close()
	if err := c.writer.Send(c.server.hello(), nil); err != nil {
		return
	}
	for {
		next, err := c.reader.Next()
		if err == nil {
			err = c.take(next)
		}
		if errors.Is(err, frame.ErrMalformed) {
			// Best effort: a host that sends garbage may not read either.
			_ = c.writer.Send(fatal(fault.InvalidRequest, err.Error()), nil)
		}
		if err != nil {
			return
		}
	}
}

// close ends what the channel's requests wait for.
func (c *channel) close() {
	_ = c.conn.Close()
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for _, open := range c.open {
		open.cancel()
	}
}

// take handles one frame. An error ends the channel.
func (c *channel) take(next *frame.Frame) error {
	if next.Type != "" {
		return c.continued(next)
	}
	handler, known := handlers[next.Op]
	if !known {
		return fmt.Errorf("%w: no such op %.40q", frame.ErrMalformed, next.Op)
	}
	started, err := c.begin(next)
	if err != nil || started == nil {
		return err
	}
	// What must be in place before the next frame is looked at happens here; the rest runs beside it.
	work, err := handler(started)
	if err != nil {
		return err
	}
	go func() {
		defer c.finish(started)
		started.answer(work)
	}()
	return nil
}

func (c *channel) begin(next *frame.Frame) (*request, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if next.ID <= c.last {
		return nil, fmt.Errorf("%w: id %d after %d", frame.ErrMalformed, next.ID, c.last)
	}
	c.last = next.ID
	if len(c.open) >= maxOpen {
		refusal := fault.New(fault.Busy, "%d requests are under way on this channel", maxOpen)
		return nil, c.writer.Send(errorFrame(next.ID, refusal), nil)
	}
	started := &request{channel: c, frame: next, credit: newCredit(), inbox: newInbox()}
	started.context, started.cancel = context.WithCancel(context.Background())
	c.open[next.ID] = started
	return started, nil
}

func (c *channel) finish(ended *request) {
	ended.cancel()
	c.mutex.Lock()
	defer c.mutex.Unlock()
	delete(c.open, ended.frame.ID)
}

// continued takes a frame that belongs to a request. For one that has ended it crossed our answer.
func (c *channel) continued(next *frame.Frame) error {
	c.mutex.Lock()
	target, open := c.open[next.ID]
	seen := next.ID > 0 && next.ID <= c.last
	c.mutex.Unlock()
	switch {
	case !seen:
		return fmt.Errorf("%w: %.40q for id %d, which never began", frame.ErrMalformed, next.Type, next.ID)
	case !open:
		return nil
	}
	switch next.Type {
	case "credit":
		return target.takeCredit(next)
	case "data", "end":
		return target.inbox.put(next)
	case "abort":
		target.cancel()
		return nil
	}
	return fmt.Errorf("%w: no such type %.40q", frame.ErrMalformed, next.Type)
}

func (r *request) takeCredit(next *frame.Frame) error {
	var granted struct {
		Credit int64 `json:"credit"`
	}
	if err := next.Decode(&granted); err != nil {
		return err
	}
	return r.credit.grant(granted.Credit)
}
