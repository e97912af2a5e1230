package call

import (
	"errors"
	"os"
	"time"

	"holdfast/guest/internal/fault"
	"holdfast/guest/internal/spool"
	"holdfast/guest/internal/sys"
)

const (
	readBytes = 256 * 1024
	// backgroundBytes of what processes print after their call ended are kept, for people.
	backgroundBytes = 64 * 1024
)

// Streams names the two outputs, in the order of all arrays.
var Streams = [2]string{"stdout", "stderr"}

// output carries one pipe of a command to the spool.
type output struct {
	call   *Call
	index  int
	pipe   *os.File
	file   *os.File
	buffer []byte
	open   bool
}

// pump returns when the pipe was closed by all who held it, or when settle ended the foreground.
func (o *output) pump() {
	o.buffer = make([]byte, readBytes)
	o.open = true
	for {
		n, err := o.pipe.Read(o.buffer)
		o.keep(o.buffer[:n])
		switch {
		case err == nil:
		case errors.Is(err, os.ErrDeadlineExceeded):
			o.drain()
			return
		default:
			o.open = false
			return
		}
	}
}

// settle is called when the main process has ended: what it wrote is in the pipe by now.
func (o *output) settle() error { return o.pipe.SetReadDeadline(time.Now()) }

// drain takes exactly what the pipe holds at this moment. Whoever else writes goes on for ever, perhaps.
func (o *output) drain() {
	unread, failure := 0, error(nil)
	connection, err := o.pipe.SyscallConn()
	if err == nil {
		err = connection.Control(func(fd uintptr) { unread, failure = sys.Unread(fd) })
	}
	if err = errors.Join(err, failure, o.pipe.SetReadDeadline(time.Time{})); err != nil {
		o.call.calls.warn("drain "+Streams[o.index], err)
		return
	}
	for unread > 0 {
		n, err := o.pipe.Read(o.buffer[:min(unread, len(o.buffer))])
		o.keep(o.buffer[:n])
		unread -= n
		if err != nil {
			o.open = false
			return
		}
	}
}

// keep adds to the spool, up to the limits. What is beyond them is read and dropped, so that the command can end.
func (o *output) keep(content []byte) {
	if len(content) == 0 {
		return
	}
	room, limit := o.call.room(o.index), o.call.limitBytes
	over := int64(len(content)) > room
	if over {
		content = content[:room]
	}
	if err := o.store(content); err != nil {
		o.call.outOfSpace(err)
		return
	}
	if over {
		o.call.overLimit(Outcome{Kind: "output-limit", Stream: Streams[o.index], LimitBytes: limit})
	}
}

func (o *output) store(content []byte) error {
	if len(content) == 0 {
		return nil
	}
	fits := o.call.calls.spool.Grow(len(content))
	n, err := o.file.Write(content[:fits])
	o.call.calls.spool.Shrink(fits - n)
	o.call.grew(o.index, n)
	if err == nil && fits < len(content) {
		return spool.ErrFull
	}
	return err
}

// linger reads on for processes that outlived the call, so that they don't block, into a log of their own.
func (o *output) linger(entry *spool.Entry) {
	defer o.pipe.Close()
	if !o.open {
		return
	}
	o.buffer = make([]byte, 4*1024)
	kept, log := 0, (*os.File)(nil)
	for {
		n, err := o.pipe.Read(o.buffer)
		if n > 0 && log == nil && kept == 0 {
			// Missing when the call was acknowledged meanwhile: then nobody asks for the log either.
			log, _ = entry.Create("background." + Streams[o.index])
		}
		if n > 0 && log != nil {
			// A full disk costs the log, not the process that prints.
			_, _ = log.Write(o.buffer[:min(n, backgroundBytes-kept)])
		}
		kept = min(kept+n, backgroundBytes)
		if kept == backgroundBytes && log != nil {
			_ = log.Close()
			log = nil
		}
		if err != nil {
			break
		}
	}
	if log != nil {
		_ = log.Close()
	}
}

func spaceFault(err error) *fault.Fault {
	if errors.Is(err, spool.ErrFull) {
		return fault.New(fault.NoSpace, "the sandbox keeps as much output as it may").
			WithHint("Acknowledge calls whose answers are durable, or print less.")
	}
	return fault.From(err, "keep output").WithHint("Free space in the sandbox.")
}
