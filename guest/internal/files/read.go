package files

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"syscall"

	"holdfast/guest/internal/fault"
)

// Stat is the contract's file stat.
type Stat struct {
	Type         string `json:"type"`
	SizeBytes    int64  `json:"sizeBytes"`
	Mode         uint32 `json:"mode"`
	ModifiedAtMs int64  `json:"modifiedAtMs"`
}

func statOf(stat *syscall.Stat_t) Stat {
	return Stat{
		Type: typeOf(stat), SizeBytes: stat.Size, Mode: stat.Mode & 0o7777,
		ModifiedAtMs: stat.Mtim.Sec*1000 + stat.Mtim.Nsec/1_000_000,
	}
}

func typeOf(stat *syscall.Stat_t) string {
	switch stat.Mode & syscall.S_IFMT {
	case syscall.S_IFREG:
		return "file"
	case syscall.S_IFDIR:
		return "dir"
	case syscall.S_IFLNK:
		return "link"
	}
	return "other"
}

// Read reads at most length bytes of a regular file. Anything else is refused at once, without opening it.
func (v View) Read(path string, offset, length int64) (content []byte, stat Stat, err error) {
	err = v.as.Do(func() error {
		target, err := how{roots: v.roots, follow: true}.resolve(path)
		if err != nil {
			return err
		}
		defer target.close()
		if err := target.mustBeFile(path); err != nil {
			return err
		}
		file, err := reopen(target.found, syscall.O_RDONLY)
		if err != nil {
			return fault.From(err, path).OnField("path")
		}
		defer file.Close()
		stat = statOf(&target.stat)
		content = make([]byte, max(0, min(length, stat.SizeBytes-offset)))
		n, err := file.ReadAt(content, offset)
		content = content[:n]
		if err != nil && err != io.EOF {
			return fault.From(err, path)
		}
		return nil
	})
	return content, stat, err
}

// Stat looks at the name itself, not at where a link points. Nil when there is nothing.
func (v View) Stat(path string) (found *Stat, err error) {
	err = v.as.Do(func() error {
		target, err := how{roots: v.roots}.resolve(path)
		if isMissing(err) {
			return nil
		}
		if err != nil {
			return err
		}
		defer target.close()
		if target.found >= 0 {
			stat := statOf(&target.stat)
			found = &stat
		}
		return nil
	})
	return found, err
}

func (p *place) mustBeFile(path string) error {
	if p.found < 0 {
		return fault.New(fault.NotFound, "%q does not exist", path).OnField("path")
	}
	if kind := typeOf(&p.stat); kind != "file" {
		return fault.New(fault.NotAFile, "%q is not a regular file but a %s", path, describe(&p.stat)).OnField("path")
	}
	return nil
}

func describe(stat *syscall.Stat_t) string {
	switch stat.Mode & syscall.S_IFMT {
	case syscall.S_IFDIR:
		return "directory"
	case syscall.S_IFLNK:
		return "link"
	case syscall.S_IFIFO:
		return "FIFO"
	case syscall.S_IFSOCK:
		return "socket"
	}
	return "device"
}

// reopen opens exactly what an OPath descriptor holds: its name may have gone to something else meanwhile.
func reopen(found int, flags int) (*os.File, error) {
	path := "/proc/self/fd/" + strconv.Itoa(found)
	fd, err := syscall.Open(path, flags|syscall.O_CLOEXEC|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), fmt.Sprint("descriptor ", found)), nil
}
