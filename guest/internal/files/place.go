// Package files does file work beneath roots, as the user whose threads call it. Links and ".." are settled on
// descriptors, one component at a time: nobody can swap a directory for a link between check and use.
package files

import (
	"strings"
	"syscall"

	"holdfast/guest/internal/fault"
	"holdfast/guest/internal/sys"
)

// maxLinks is the kernel's own bound.
const maxLinks = 40

// place is a name in an open directory. The name is "." for a root itself.
type place struct {
	dir  int
	name string
	// found is an OPath descriptor of what the name is, -1 when there is nothing.
	found int
	stat  syscall.Stat_t
}

func (p *place) close() {
	_ = syscall.Close(p.dir)
	if p.found >= 0 {
		_ = syscall.Close(p.found)
	}
}

func (p *place) isRoot() bool { return p.name == "." }

// how a path is resolved.
type how struct {
	roots []string
	// follow a link in the last component.
	follow bool
	// makeDirs with this mode where the path leads through nothing; 0 makes none.
	makeDirs uint32
}

// walk is one resolution.
type walk struct {
	how   how
	path  string
	links int
	// stack of open directories, the root first.
	stack []int
	root  string
}

// resolve finds the place that an absolute path names. The caller closes it.
func (h how) resolve(path string) (*place, error) {
	if !strings.HasPrefix(path, "/") || strings.ContainsRune(path, 0) {
		return nil, fault.New(fault.InvalidRequest, "%q is not an absolute path", path).OnField("path")
	}
	walk := &walk{how: h, path: path}
	rest, err := walk.enter(split(path))
	for err == nil {
		var reached *place
		if reached, rest, err = walk.step(rest); reached != nil {
			walk.stack = walk.stack[:len(walk.stack)-1]
			walk.leave()
			return reached, nil
		}
	}
	walk.leave()
	return nil, err
}

func split(path string) []string {
	var parts []string
	for _, part := range strings.Split(path, "/") {
		if part != "" && part != "." {
			parts = append(parts, part)
		}
	}
	return parts
}

// enter starts (again) at the innermost root that an absolute path begins with.
func (w *walk) enter(parts []string) ([]string, error) {
	w.leave()
	length := -1
	for _, root := range w.how.roots {
		prefix := split(root)
		if len(prefix) > length && len(prefix) <= len(parts) && strings.Join(prefix, "/") == strings.Join(parts[:len(prefix)], "/") {
			length, w.root = len(prefix), root
		}
	}
	if length < 0 {
		return nil, w.outside()
	}
	root, err := syscall.Open(w.root, sys.OPath|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, w.failed(err)
	}
	w.stack = []int{root}
	return parts[length:], nil
}

func (w *walk) leave() {
	for _, fd := range w.stack {
		_ = syscall.Close(fd)
	}
	w.stack = nil
}

func (w *walk) top() int { return w.stack[len(w.stack)-1] }

// step takes one component: a place is the end of the way.
func (w *walk) step(rest []string) (*place, []string, error) {
	if len(rest) == 0 {
		return w.here()
	}
	name, last := rest[0], len(rest) == 1
	if name == ".." {
		rest, err := w.up(rest[1:])
		return nil, rest, err
	}
	found, stat, err := w.look(name, last)
	if err == syscall.ENOENT && last {
		return &place{dir: w.top(), name: name, found: -1}, nil, nil
	}
	if err != nil {
		return nil, nil, w.failed(err)
	}
	kind := stat.Mode & syscall.S_IFMT
	switch {
	case kind == syscall.S_IFLNK && (!last || w.how.follow):
		rest, err := w.through(found, rest[1:])
		return nil, rest, err
	case last:
		return &place{dir: w.top(), name: name, found: found, stat: stat}, nil, nil
	case kind != syscall.S_IFDIR:
		_ = syscall.Close(found)
		return nil, nil, w.failed(syscall.ENOTDIR)
	}
	w.stack = append(w.stack, found)
	return nil, rest[1:], nil
}

// here is a way that ends in a directory by "..", or at a root.
func (w *walk) here() (*place, []string, error) {
	found, stat, err := w.look(".", true)
	if err != nil {
		return nil, nil, w.failed(err)
	}
	return &place{dir: w.top(), name: ".", found: found, stat: stat}, nil, nil
}

// look opens what a name is, without going through a link and without opening a device or a FIFO.
func (w *walk) look(name string, last bool) (found int, stat syscall.Stat_t, err error) {
	found, err = syscall.Openat(w.top(), name, sys.OPath|syscall.O_NOFOLLOW|syscall.O_CLOEXEC, 0)
	if err == syscall.ENOENT && !last && w.how.makeDirs != 0 {
		if err = syscall.Mkdirat(w.top(), name, w.how.makeDirs); err == nil || err == syscall.EEXIST {
			found, err = syscall.Openat(w.top(), name, sys.OPath|syscall.O_NOFOLLOW|syscall.O_CLOEXEC, 0)
		}
	}
	if err != nil {
		return -1, stat, err
	}
	if err = syscall.Fstat(found, &stat); err != nil {
		_ = syscall.Close(found)
		return -1, stat, err
	}
	return found, stat, nil
}

func (w *walk) up(rest []string) ([]string, error) {
	if len(w.stack) > 1 {
		_ = syscall.Close(w.top())
		w.stack = w.stack[:len(w.stack)-1]
		return rest, nil
	}
	// The root's own name can be trusted: leaving it may lead to another root, or nowhere.
	parent := split(w.root)
	if len(parent) == 0 {
		return rest, nil
	}
	return w.enter(append(parent[:len(parent)-1], rest...))
}

// through goes on where a link points to.
func (w *walk) through(link int, rest []string) ([]string, error) {
	target, err := sys.Readlink(link)
	_ = syscall.Close(link)
	if w.links++; err == nil && w.links > maxLinks {
		err = syscall.ELOOP
	}
	if err != nil {
		return nil, w.failed(err)
	}
	rest = append(split(target), rest...)
	if strings.HasPrefix(target, "/") {
		return w.enter(rest)
	}
	return rest, nil
}

func (w *walk) outside() error {
	return fault.New(fault.Denied, "%q is not inside %s", w.path, strings.Join(w.how.roots, ", ")).OnField("path").
		WithHint("Name a path inside one of these directories; links must not lead out of them.")
}

func (w *walk) failed(err error) error {
	named := fault.From(err, w.path)
	return named.OnField("path")
}
