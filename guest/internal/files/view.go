package files

import (
	"errors"

	"holdfast/guest/internal/fault"
	"holdfast/guest/internal/user"
)

// View is the files beneath some roots, as one user meets them.
type View struct {
	as    *user.Threads
	roots []string
}

// NewView needs roots that the session user can't replace: they are opened by name.
func NewView(as *user.Threads, roots []string) View { return View{as, roots} }

func isMissing(err error) bool {
	var known *fault.Fault
	return errors.As(err, &known) && known.Code == fault.NotFound
}
