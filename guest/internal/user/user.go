// Package user knows who commands and file operations run as.
package user

import (
	"fmt"
	"os/user"
	"strconv"
)

// User is one account of the sandbox.
type User struct {
	Name   string `json:"name"`
	UID    int    `json:"uid"`
	GID    int    `json:"gid"`
	Home   string `json:"home"`
	Groups []int  `json:"-"`
}

// Root is who the guest itself is.
func Root() User { return User{Name: "root", Home: "/root"} }

// Find looks an account up by name or number. A number without an account is fine: it has no home and no groups.
func Find(nameOrUID string) (User, error) {
	if uid, err := strconv.Atoi(nameOrUID); err == nil && uid >= 0 {
		account, err := user.LookupId(nameOrUID)
		if err != nil {
			return User{Name: nameOrUID, UID: uid, GID: uid, Home: "/", Groups: []int{uid}}, nil
		}
		return from(account)
	}
	account, err := user.Lookup(nameOrUID)
	if err != nil {
		return User{}, fmt.Errorf("no user %q in the sandbox: %w", nameOrUID, err)
	}
	return from(account)
}

func from(account *user.User) (User, error) {
	uid, err := strconv.Atoi(account.Uid)
	if err != nil {
		return User{}, fmt.Errorf("uid of %s: %w", account.Username, err)
	}
	gid, err := strconv.Atoi(account.Gid)
	if err != nil {
		return User{}, fmt.Errorf("gid of %s: %w", account.Username, err)
	}
	found := User{Name: account.Username, UID: uid, GID: gid, Home: account.HomeDir}
	names, err := account.GroupIds()
	if err != nil {
		// An image without /etc/group: the primary group is all there is.
		names = []string{account.Gid}
	}
	for _, name := range names {
		if id, err := strconv.Atoi(name); err == nil {
			found.Groups = append(found.Groups, id)
		}
	}
	return found, nil
}
