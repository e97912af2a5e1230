package call

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"holdfast/guest/internal/fault"
	"holdfast/guest/internal/user"
)

const (
	maxCallIDBytes = 800
	// The kernel passes no single variable of 128 KiB or more.
	maxVariableBytes = 128*1024 - 1
	// The kernel refuses more than a quarter of the stack limit, usually 2 MiB, arguments included.
	maxEnvironmentBytes = 1 << 20
	defaultPath         = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
)

// Request is one command, complete.
type Request struct {
	CallID           string
	Script           []byte
	Cwd              string
	Env              []string
	TimeoutMs        int64
	OutputLimitBytes int64
	KeepPrivileges   bool
	As               *user.Threads
}

// Check refuses before anything is claimed what could never run.
func (r *Request) Check() *fault.Fault {
	switch {
	case bytes.IndexByte(r.Script, 0) >= 0:
		return fault.New(fault.InvalidRequest, "the script holds a NUL byte").OnField("script")
	case !strings.HasPrefix(r.Cwd, "/") || strings.ContainsRune(r.Cwd, 0):
		return fault.New(fault.InvalidRequest, "the working directory %q is not an absolute path", r.Cwd).OnField("cwd")
	case r.TimeoutMs <= 0 || r.OutputLimitBytes <= 0:
		return fault.New(fault.InvalidRequest, "timeoutMs and outputLimitBytes must be positive")
	}
	total := 0
	for _, variable := range r.Env {
		name, _, found := strings.Cut(variable, "=")
		if !found || name == "" {
			return fault.New(fault.InvalidRequest, "a variable without a name or value").OnField("env")
		}
		if len(variable) > maxVariableBytes {
			return fault.New(fault.TooLarge, "variable %s has %d bytes", name, len(variable)).OnField("env").
				WithHint(fmt.Sprintf("The kernel passes at most %d bytes a variable: write a file instead.", maxVariableBytes))
		}
		total += len(variable) + 1
	}
	if total > maxEnvironmentBytes {
		return fault.New(fault.TooLarge, "the variables have %d bytes in all", total).OnField("env").
			WithHint(fmt.Sprintf("At most %d bytes can be passed: write files instead.", maxEnvironmentBytes))
	}
	return nil
}

// CheckID refuses what is no call id.
func CheckID(callID string) *fault.Fault {
	if callID == "" || len(callID) > maxCallIDBytes {
		return fault.New(fault.InvalidRequest, "a call id of %d bytes", len(callID)).OnField("callId")
	}
	return nil
}

// hash tells one request from another under the same id. Variables don't count: a secret may have changed
// between two attempts at the same call.
func (r *Request) hash() string {
	sum := sha256.New()
	fmt.Fprintf(sum, "%d\x00%s\x00%s\x00", len(r.Script), r.Cwd, r.As.User().Name)
	_, _ = sum.Write(r.Script)
	return hex.EncodeToString(sum.Sum(nil))
}

// environment lays the request's variables over those of the user over those of the image.
func (r *Request) environment() []string {
	as := r.As.User()
	merged := map[string]string{"PATH": defaultPath, "SHELL": "/bin/bash"}
	set := func(variables []string) {
		for _, variable := range variables {
			name, value, _ := strings.Cut(variable, "=")
			merged[name] = value
		}
	}
	set(os.Environ())
	if merged["LANG"] == "" && merged["LC_ALL"] == "" {
		merged["LANG"] = "C.UTF-8"
	}
	merged["HOME"], merged["USER"], merged["LOGNAME"] = as.Home, as.Name, as.Name
	set(r.Env)
	joined := make([]string, 0, len(merged))
	for _, name := range slices.Sorted(maps.Keys(merged)) {
		joined = append(joined, name+"="+merged[name])
	}
	return joined
}
