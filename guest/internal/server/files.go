package server

import (
	"encoding/base64"
	"path"
	"slices"
	"strings"

	"holdfast/guest/internal/fault"
	"holdfast/guest/internal/files"
	"holdfast/guest/internal/user"
)

const (
	maxReadBytes = 1 << 20
	maxEntries   = 100_000
)

// fileRequest is what all file operations share, and the few fields of the simple ones.
type fileRequest struct {
	Path        string   `json:"path"`
	PathBase64  string   `json:"pathBase64"`
	Roots       []string `json:"roots"`
	As          string   `json:"as"`
	Offset      int64    `json:"offset"`
	LengthBytes int64    `json:"lengthBytes"`
	MaxEntries  int      `json:"maxEntries"`
	Prune       []string `json:"prune"`
	Mode        *uint32  `json:"mode"`
	To          string   `json:"to"`
	ToBase64    string   `json:"toBase64"`
	Recursive   bool     `json:"recursive"`
	Force       bool     `json:"force"`

	view files.View
}

// fileWork does one operation on a checked request.
type fileWork func(*request, *fileRequest) (fields, []byte, error)

func onFiles(run fileWork) handler {
	return func(r *request) (work, error) {
		asked := &fileRequest{}
		if err := r.frame.Decode(asked); err != nil {
			return nil, err
		}
		return func() (fields, []byte, error) {
			if err := asked.check(r.channel.server); err != nil {
				return nil, nil, err
			}
			return run(r, asked)
		}, nil
	}
}

func (f *fileRequest) check(server *Server) (err error) {
	if f.Path, err = rawPath(f.Path, f.PathBase64); err != nil {
		return err
	}
	if f.view, err = server.view(f.As, f.Roots); err != nil {
		return err
	}
	if f.Offset < 0 || f.LengthBytes < 0 || f.LengthBytes > maxReadBytes || f.MaxEntries < 0 || f.MaxEntries > maxEntries {
		return fault.New(fault.InvalidRequest, "at most %d bytes and %d entries at once", maxReadBytes, maxEntries)
	}
	return nil
}

// rawPath: names are bytes, JSON is text.
func rawPath(text, encoded string) (string, error) {
	if encoded == "" {
		return text, nil
	}
	raw, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return "", fault.New(fault.InvalidRequest, "a path that is not base64: %v", err).OnField("pathBase64")
	}
	return string(raw), nil
}

func (s *Server) view(as string, roots []string) (files.View, error) {
	for _, root := range roots {
		if !strings.HasPrefix(root, "/") || path.Clean(root) != root {
			return files.View{}, fault.New(fault.InvalidRequest, "root %q is not a clean absolute path", root).OnField("roots")
		}
	}
	if len(roots) == 0 {
		return files.View{}, fault.New(fault.InvalidRequest, "no roots").OnField("roots")
	}
	threads, err := s.threads(as)
	if err != nil {
		return files.View{}, err
	}
	return files.NewView(threads, slices.Clone(roots)), nil
}

func (s *Server) threads(as string) (*user.Threads, error) {
	switch as {
	case "", "session":
		return s.Session, nil
	case "root":
		return s.Root, nil
	}
	return nil, fault.New(fault.InvalidRequest, "files are touched as session or as root, not as %q", as).OnField("as")
}

func readFile(_ *request, asked *fileRequest) (fields, []byte, error) {
	content, stat, err := asked.view.Read(asked.Path, asked.Offset, asked.LengthBytes)
	return fields{"stat": stat}, content, err
}

func statFile(_ *request, asked *fileRequest) (fields, []byte, error) {
	stat, err := asked.view.Stat(asked.Path)
	return fields{"stat": stat}, nil, err
}

func listFiles(r *request, asked *fileRequest) (fields, []byte, error) {
	records, truncated, err := asked.view.List(asked.Path, asked.MaxEntries)
	if err != nil {
		return nil, nil, err
	}
	return fields{"truncated": truncated}, nil, r.data(records)
}

func walkFiles(r *request, asked *fileRequest) (fields, []byte, error) {
	records, truncated, err := asked.view.Walk(asked.Path, asked.MaxEntries, asked.Prune)
	if err != nil {
		return nil, nil, err
	}
	return fields{"truncated": truncated}, nil, r.data(records)
}

func makeDirectory(_ *request, asked *fileRequest) (fields, []byte, error) {
	mode := uint32(0o755)
	if asked.Mode != nil {
		mode = *asked.Mode & 0o777
	}
	if mode == 0 {
		return nil, nil, fault.New(fault.InvalidRequest, "a directory of mode 0").OnField("mode")
	}
	created, err := asked.view.Mkdir(asked.Path, mode)
	return fields{"created": created}, nil, err
}

func renameFile(_ *request, asked *fileRequest) (fields, []byte, error) {
	to, err := rawPath(asked.To, asked.ToBase64)
	if err != nil {
		return nil, nil, err
	}
	return nil, nil, asked.view.Rename(asked.Path, to)
}

func removeFile(_ *request, asked *fileRequest) (fields, []byte, error) {
	removed, err := asked.view.Remove(asked.Path, asked.Recursive, asked.Force)
	return fields{"removed": removed}, nil, err
}
