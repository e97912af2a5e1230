package files

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"holdfast/guest/internal/fault"
	"holdfast/guest/internal/sys"
)

const (
	defaultFileMode = 0o644
	defaultDirMode  = 0o755
)

// Replacement is the new content of a file, beside the old one until Commit.
type Replacement struct {
	view   View
	path   string
	target *place
	file   *os.File
	scrap  string
	mode   uint32
	size   int64
}

// Replace begins a write. What can't be replaced by this user is refused before any content is taken. A link in the
// last component stays a link: what it points to is replaced. Of a hard link only this name is.
func (v View) Replace(path string, mode *uint32, dirMode uint32) (*Replacement, error) {
	if dirMode == 0 {
		dirMode = defaultDirMode
	}
	replacement := &Replacement{view: v, path: path, mode: defaultFileMode}
	err := v.as.Do(func() error {
		target, err := how{roots: v.roots, follow: true, makeDirs: dirMode}.resolve(path)
		if err != nil {
			return err
		}
		replacement.target = target
		if target.found >= 0 {
			if err := v.mayReplace(target, path); err != nil {
				return err
			}
			replacement.mode = target.stat.Mode & 0o777
		}
		if mode != nil {
			replacement.mode = *mode & 0o777
		}
		return replacement.open()
	})
	if err != nil {
		replacement.Discard()
		return nil, err
	}
	return replacement, nil
}

func (v View) mayReplace(target *place, path string) error {
	if err := target.mustBeFile(path); err != nil {
		return err
	}
	if int(target.stat.Uid) != v.as.User().UID {
		return fault.New(fault.Denied, "%q belongs to another user (%d)", path, target.stat.Uid).OnField("path")
	}
	// The directory would allow it, the file's own mode doesn't.
	probe, err := reopen(target.found, syscall.O_WRONLY)
	if err != nil {
		return fault.From(err, path).OnField("path")
	}
	return probe.Close()
}

func (r *Replacement) open() error {
	random := make([]byte, 8)
	if _, err := rand.Read(random); err != nil {
		return err
	}
	scrap := ".holdfast-" + hex.EncodeToString(random)
	fd, err := syscall.Openat(r.target.dir, scrap,
		syscall.O_WRONLY|syscall.O_CREAT|syscall.O_EXCL|syscall.O_NOFOLLOW|syscall.O_CLOEXEC, 0o600)
	if err != nil {
		return fault.From(err, r.path).OnField("path")
	}
	r.scrap, r.file = scrap, os.NewFile(uintptr(fd), r.path)
	return nil
}

// Write adds content.
func (r *Replacement) Write(content []byte) error {
	n, err := r.file.Write(content)
	r.size += int64(n)
	if err != nil {
		return fault.From(err, r.path).WithHint("The old content is untouched.")
	}
	return nil
}

// Size is what was written so far.
func (r *Replacement) Size() int64 { return r.size }

// Created says whether there was no such file.
func (r *Replacement) Created() bool { return r.target.found < 0 }

// Settle ends the content. The path it returns is there until Commit, and gone afterwards.
func (r *Replacement) Settle() (scrap string, err error) {
	err = r.view.as.Do(func() error {
		if err := r.file.Chmod(os.FileMode(r.mode)); err != nil {
			return fault.From(err, r.path)
		}
		if err := r.file.Close(); err != nil {
			return fault.From(err, r.path)
		}
		dir, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", r.target.dir))
		if err != nil {
			return fault.From(err, r.path)
		}
		scrap = filepath.Join(dir, r.scrap)
		return nil
	})
	return scrap, err
}

// Commit puts settled content in place.
func (r *Replacement) Commit() error {
	return r.view.as.Do(func() error {
		if err := syscall.Renameat(r.target.dir, r.scrap, r.target.dir, r.target.name); err != nil {
			return fault.From(err, r.path).OnField("path")
		}
		r.scrap = ""
		return nil
	})
}

// Discard removes what Commit did not put in place, and lets go of everything. It may be called at any time, once.
func (r *Replacement) Discard() {
	if r.target == nil {
		return
	}
	_ = r.view.as.Do(func() error {
		if r.scrap != "" {
			_ = sys.Unlinkat(r.target.dir, r.scrap, false)
		}
		if r.file != nil {
			_ = r.file.Close()
		}
		r.target.close()
		return nil
	})
}

// Exists looks for a name as the view's user: root alone may not get into a private directory.
func (v View) Exists(path string) (there bool, err error) {
	err = v.as.Do(func() error {
		_, err := os.Lstat(path)
		there = err == nil
		if os.IsNotExist(err) {
			return nil
		}
		return err
	})
	return there, err
}

// Drop removes what a write of an earlier guest left beside its target.
func (v View) Drop(path string) error {
	return v.as.Do(func() error { return os.Remove(path) })
}
