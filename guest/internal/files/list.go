package files

import (
	"os"
	"slices"
	"strconv"
	"syscall"

	"holdfast/guest/internal/fault"
	"holdfast/guest/internal/sys"
)

// maxDepth keeps a hostile tree from using up descriptors: each level holds one.
const maxDepth = 500

// listing collects records `<d|f|l|o><size> <name>\0`.
type listing struct {
	records   []byte
	left      int
	truncated bool
}

func (l *listing) add(name string, stat *syscall.Stat_t) bool {
	if l.left == 0 {
		l.truncated = true
		return false
	}
	l.left--
	l.records = append(l.records, typeOf(stat)[0])
	l.records = strconv.AppendInt(l.records, stat.Size, 10)
	l.records = append(l.records, ' ')
	l.records = append(l.records, name...)
	l.records = append(l.records, 0)
	return true
}

// List the names in a directory, in the order of the file system.
func (v View) List(path string, maxEntries int) (records []byte, truncated bool, err error) {
	found := &listing{left: maxEntries}
	err = v.inDirectory(path, true, func(dir *os.File) error { return found.names(dir, "", nil, 0) })
	return found.records, found.truncated, err
}

// Walk lists a tree, directories before what they hold, without following links. Directories named in prune are
// listed and not entered; those that can't be read are listed and skipped.
func (v View) Walk(path string, maxEntries int, prune []string) (records []byte, truncated bool, err error) {
	found := &listing{left: maxEntries}
	err = v.inDirectory(path, false, func(dir *os.File) error {
		return found.names(dir, "", func(name string) bool { return !slices.Contains(prune, name) }, maxDepth)
	})
	return found.records, found.truncated, err
}

func (v View) inDirectory(path string, follow bool, job func(*os.File) error) error {
	return v.as.Do(func() error {
		target, err := how{roots: v.roots, follow: follow}.resolve(path)
		if err != nil {
			return err
		}
		defer target.close()
		if target.found < 0 {
			return fault.New(fault.NotFound, "%q does not exist", path).OnField("path")
		}
		if typeOf(&target.stat) != "dir" {
			return fault.New(fault.NotAFile, "%q is not a directory", path).OnField("path")
		}
		dir, err := reopen(target.found, syscall.O_RDONLY|syscall.O_DIRECTORY)
		if err != nil {
			return fault.From(err, path).OnField("path")
		}
		defer dir.Close()
		return job(dir)
	})
}

// names goes down into directories for which enter says so, at most depth levels.
func (l *listing) names(dir *os.File, prefix string, enter func(string) bool, depth int) error {
	// One more than fits tells whether something is missing, without reading a huge directory to its end.
	names, err := dir.Readdirnames(l.left + 1)
	if err != nil && len(names) == 0 {
		return endOfDirectory(err)
	}
	for _, name := range names {
		var stat syscall.Stat_t
		if err := sys.Lstatat(int(dir.Fd()), name, &stat); err != nil {
			// Gone between the listing and the look.
			continue
		}
		if !l.add(prefix+name, &stat) {
			return nil
		}
		if enter == nil || typeOf(&stat) != "dir" || !enter(name) {
			continue
		}
		if depth == 0 {
			l.truncated = true
			continue
		}
		if err := l.below(dir, name, prefix, enter, depth-1); err != nil {
			return err
		}
	}
	return nil
}

func (l *listing) below(dir *os.File, name, prefix string, enter func(string) bool, depth int) error {
	fd, err := syscall.Openat(int(dir.Fd()), name, syscall.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW|syscall.O_CLOEXEC, 0)
	if err != nil {
		// Unreadable, or no directory any more: it is listed, its contents are not.
		return nil
	}
	below := os.NewFile(uintptr(fd), name)
	defer below.Close()
	return l.names(below, prefix+name+"/", enter, depth)
}
