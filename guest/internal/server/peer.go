package server

import (
	"net"
	"syscall"
)

// fromRoot asks the kernel who is at the other end.
func fromRoot(connection *net.UnixConn) bool {
	raw, err := connection.SyscallConn()
	if err != nil {
		return false
	}
	root := false
	err = raw.Control(func(fd uintptr) {
		peer, err := syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
		root = err == nil && peer.Uid == 0
	})
	return err == nil && root
}
