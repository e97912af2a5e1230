package files

import (
	"errors"
	"io"
	"os"
	"syscall"

	"holdfast/guest/internal/fault"
	"holdfast/guest/internal/sys"
)

// Mkdir makes a directory and its parents. False: it was there.
func (v View) Mkdir(path string, mode uint32) (created bool, err error) {
	err = v.as.Do(func() error {
		target, err := how{roots: v.roots, follow: true, makeDirs: mode}.resolve(path)
		if err != nil {
			return err
		}
		defer target.close()
		if target.found >= 0 {
			if typeOf(&target.stat) != "dir" {
				return fault.New(fault.NotAFile, "%q exists and is not a directory", path).OnField("path")
			}
			return nil
		}
		if err := syscall.Mkdirat(target.dir, target.name, mode); err != nil {
			return fault.From(err, path).OnField("path")
		}
		created = true
		return nil
	})
	return created, err
}

// Rename moves a name, itself and not what a link points to. What was there before is replaced, as rename(2) does.
func (v View) Rename(from, to string) error {
	return v.as.Do(func() error {
		source, err := how{roots: v.roots}.resolve(from)
		if err != nil {
			return err
		}
		defer source.close()
		target, err := how{roots: v.roots}.resolve(to)
		if err != nil {
			return err
		}
		defer target.close()
		if source.isRoot() || target.isRoot() {
			return fault.New(fault.Denied, "%q or %q is a root", from, to)
		}
		if err := syscall.Renameat(source.dir, source.name, target.dir, target.name); err != nil {
			return fault.From(err, from+" to "+to)
		}
		return nil
	})
}

// Remove a name, with all beneath it when recursive. False: there was nothing, which force allows.
func (v View) Remove(path string, recursive, force bool) (removed bool, err error) {
	err = v.as.Do(func() error {
		target, err := how{roots: v.roots}.resolve(path)
		if force && isMissing(err) {
			return nil
		}
		if err != nil {
			return err
		}
		defer target.close()
		switch {
		case target.found < 0 && force:
			return nil
		case target.found < 0:
			return fault.New(fault.NotFound, "%q does not exist", path).OnField("path")
		case target.isRoot():
			return fault.New(fault.Denied, "%q is a root", path).OnField("path")
		}
		removed = true
		directory := typeOf(&target.stat) == "dir"
		if directory && recursive {
			err = removeTree(target.dir, target.name, maxDepth)
		} else {
			err = sys.Unlinkat(target.dir, target.name, directory)
		}
		if errors.Is(err, syscall.ENOTEMPTY) && !recursive {
			return fault.New(fault.NotAFile, "%q is a directory and not empty", path).OnField("path").
				WithHint("Set recursive to remove it with all it holds.")
		}
		if err != nil {
			return fault.From(err, path).OnField("path")
		}
		return nil
	})
	return removed, err
}

// removeTree never follows a link: each level is opened as a directory, by a descriptor of the one above.
func removeTree(parent int, name string, depth int) error {
	if depth == 0 {
		return fault.New(fault.TooLarge, "more than %d directories in one another", maxDepth)
	}
	fd, err := syscall.Openat(parent, name, syscall.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW|syscall.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	dir := os.NewFile(uintptr(fd), name)
	defer dir.Close()
	for {
		names, err := dir.Readdirnames(1000)
		if len(names) == 0 {
			if err := endOfDirectory(err); err != nil {
				return err
			}
			return sys.Unlinkat(parent, name, true)
		}
		for _, below := range names {
			if err := removeEntry(fd, below, depth); err != nil {
				return err
			}
		}
	}
}

func removeEntry(dir int, name string, depth int) error {
	err := sys.Unlinkat(dir, name, false)
	if err == syscall.EISDIR {
		err = removeTree(dir, name, depth-1)
	}
	if err == syscall.ENOENT {
		// Somebody else was faster.
		return nil
	}
	return err
}

func endOfDirectory(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
