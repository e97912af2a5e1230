// Package sys holds the few Linux calls that the standard library lacks.
package sys

import (
	"syscall"
	"unsafe"
)

const (
	// OPath opens a name without opening what it names: no side effect on devices, no blocking on FIFOs.
	OPath        = 0x200000
	atRemoveDir  = 0x200
	atNoFollow   = 0x100
	memfdCloexec = 0x1
	memfdSealing = 0x2
	fAddSeals    = 1033
	fSetPipeSize = 1031
	// allSeals: no write, no grow, no shrink, no more seals.
	allSeals = 0xf
	fionread = 0x541b
)

// Lstatat stats name in the directory without following a link.
func Lstatat(dir int, name string, stat *syscall.Stat_t) error {
	path, err := syscall.BytePtrFromString(name)
	if err != nil {
		return err
	}
	return errnoOf(syscall.Syscall6(sysFstatat, uintptr(dir), uintptr(unsafe.Pointer(path)),
		uintptr(unsafe.Pointer(stat)), atNoFollow, 0, 0))
}

// Readlink reads the link that fd (opened with OPath) names.
func Readlink(fd int) (string, error) {
	empty, buffer := [1]byte{}, make([]byte, 4096)
	n, _, errno := syscall.Syscall6(sysReadlinkat, uintptr(fd), uintptr(unsafe.Pointer(&empty[0])),
		uintptr(unsafe.Pointer(&buffer[0])), uintptr(len(buffer)), 0, 0)
	if errno != 0 {
		return "", errno
	}
	return string(buffer[:n]), nil
}

// Unlinkat removes a name, or an empty directory.
func Unlinkat(dir int, name string, directory bool) error {
	path, err := syscall.BytePtrFromString(name)
	if err != nil {
		return err
	}
	flags := uintptr(0)
	if directory {
		flags = atRemoveDir
	}
	return errnoOf(syscall.Syscall(syscall.SYS_UNLINKAT, uintptr(dir), uintptr(unsafe.Pointer(path)), flags))
}

// SealedFile makes an anonymous file that nobody can change any more. Its owner is the thread's fsuid.
func SealedFile(name string, content []byte) (int, error) {
	path, err := syscall.BytePtrFromString(name)
	if err != nil {
		return -1, err
	}
	created, _, errno := syscall.Syscall(sysMemfdCreate, uintptr(unsafe.Pointer(path)), memfdCloexec|memfdSealing, 0)
	if errno != 0 {
		return -1, errno
	}
	fd := int(created)
	for offset := 0; offset < len(content); {
		n, err := syscall.Pwrite(fd, content[offset:], int64(offset))
		if err != nil {
			_ = syscall.Close(fd)
			return -1, err
		}
		offset += n
	}
	if err := fcntl(fd, fAddSeals, allSeals); err != nil {
		_ = syscall.Close(fd)
		return -1, err
	}
	return fd, nil
}

// GrowPipe asks for a larger pipe. A refusal (the user's share is used up) leaves the usual 64 KiB.
func GrowPipe(fd int, sizeBytes int) { _ = fcntl(fd, fSetPipeSize, sizeBytes) }

// Unread says how many bytes the pipe holds now.
func Unread(fd uintptr) (int, error) {
	var count int32
	err := errnoOf(syscall.Syscall(syscall.SYS_IOCTL, fd, fionread, uintptr(unsafe.Pointer(&count))))
	return int(count), err
}

func fcntl(fd, command, argument int) error {
	return errnoOf(syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), uintptr(command), uintptr(argument)))
}

func errnoOf(_, _ uintptr, errno syscall.Errno) error {
	if errno != 0 {
		return errno
	}
	return nil
}
