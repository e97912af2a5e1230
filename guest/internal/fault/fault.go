// Package fault holds the one error that crosses the channel: a code of the contract, what happened, what to do.
package fault

import (
	"errors"
	"fmt"
	"syscall"
)

// Code is one of the contract's failure codes.
type Code string

const (
	InvalidRequest Code = "invalid-request"
	NotFound       Code = "not-found"
	CannotStart    Code = "cannot-start"
	NotAFile       Code = "not-a-file"
	TooLarge       Code = "too-large"
	NoSpace        Code = "no-space"
	Denied         Code = "denied"
	Busy           Code = "busy"
	Conflict       Code = "conflict"
	Closed         Code = "closed"
	SessionLost    Code = "session-lost"
	Internal       Code = "internal"
)

// Fault is an error as the host reports it. The JSON form is the contract's Failure.
type Fault struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
	Field   string `json:"field,omitempty"`
	Hint    string `json:"hint,omitempty"`
}

func (f *Fault) Error() string { return string(f.Code) + ": " + f.Message }

// New makes a fault without a hint.
func New(code Code, format string, args ...any) *Fault {
	return &Fault{Code: code, Message: fmt.Sprintf(format, args...)}
}

// WithHint adds what to do next.
func (f *Fault) WithHint(hint string) *Fault {
	f.Hint = hint
	return f
}

// OnField names the field of the request that is wrong.
func (f *Fault) OnField(field string) *Fault {
	f.Field = field
	return f
}

// From turns any error into a fault: a fault stays itself, an errno gets the code that fits a file operation.
func From(err error, doing string) *Fault {
	var known *Fault
	if errors.As(err, &known) {
		return known
	}
	return New(codeOf(err), "%s: %v", doing, err)
}

func codeOf(err error) Code {
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		return Internal
	}
	switch errno {
	case syscall.ENOENT:
		return NotFound
	case syscall.ENOTDIR, syscall.EISDIR, syscall.ENXIO, syscall.ENODEV:
		return NotAFile
	case syscall.EACCES, syscall.EPERM, syscall.EROFS, syscall.ELOOP, syscall.EXDEV, syscall.ETXTBSY:
		return Denied
	case syscall.ENOSPC, syscall.EDQUOT:
		return NoSpace
	case syscall.EFBIG:
		return TooLarge
	case syscall.ENOTEMPTY, syscall.EEXIST, syscall.EBUSY:
		return Conflict
	case syscall.ENAMETOOLONG, syscall.EINVAL:
		return InvalidRequest
	}
	return Internal
}
