package process

import (
	"bytes"
	"os"
	"strconv"
)

// OomKills reads how many processes the kernel ended in this sandbox for want of memory (control groups version 2
// and 1). Docker's own flag is wrong for processes other than PID 1. 0 where there is no such count.
func OomKills() int64 {
	for _, path := range []string{"/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control"} {
		content, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		for line := range bytes.Lines(content) {
			if name, value, found := bytes.Cut(bytes.TrimSpace(line), []byte(" ")); found && string(name) == "oom_kill" {
				if count, err := strconv.ParseInt(string(value), 10, 64); err == nil {
					return count
				}
			}
		}
	}
	return 0
}
