package embedded

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"academy.example/lab/labctl/internal/provider"
	"academy.example/lab/labctl/internal/provider/audit"
)

// WatchRequests follows the API server's audit log from its present end on.
func (p Provider) WatchRequests(ctx context.Context, cluster provider.Cluster, ready func(), on func(provider.LeaseRequest)) error {
	r, err := readRecord(paths{state: cluster.StateDir})
	if err != nil {
		return fmt.Errorf("find the audit log of lab %s: %w", cluster.Name, err)
	}
	if r.AuditLog == "" {
		return fmt.Errorf("lab %s keeps no audit log", cluster.Name)
	}
	return follow(ctx, r.AuditLog, ready, func(line []byte) error {
		request, finished, err := audit.Parse(line)
		if err != nil {
			return fmt.Errorf("%s: %w", r.AuditLog, err)
		}
		if finished {
			on(request)
		}
		return nil
	})
}

// follow reads the lines that are appended to a file from now on, and goes on in the new file when it is replaced, as log
// rotation does. It ends with ctx or an error.
func follow(ctx context.Context, path string, ready func(), on func(line []byte) error) error {
	file, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		ready() // somebody removed it; whatever it will hold one day is still to come
		file, err = appeared(ctx, path)
	} else if err == nil {
		_, err = file.Seek(0, io.SeekEnd)
		ready()
	}
	if err != nil {
		return err
	}
	defer func() { file.Close() }()
	tick := time.NewTicker(auditEvery)
	defer tick.Stop()
	for rest := []byte(nil); ; {
		next, err := replaced(file, path) // asked before the reading: what was written until then is in the old file
		if err == nil {
			rest, err = drain(file, rest, on)
		}
		if err != nil {
			return err
		}
		if next != nil {
			file.Close()
			file, rest = next, nil
			continue
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// appeared waits for a file.
func appeared(ctx context.Context, path string) (*os.File, error) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-tick.C:
		}
		if file, err := os.Open(path); !errors.Is(err, os.ErrNotExist) {
			return file, err
		}
	}
}

// auditEvery is how often the log is looked at. The lines carry the server's own times, so that costs no precision.
const auditEvery = 200 * time.Millisecond

// drain hands on the whole lines that follow rest, a part of a line, and returns the part that follows them.
func drain(file *os.File, rest []byte, on func(line []byte) error) ([]byte, error) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := file.Read(buffer)
		rest = append(rest, buffer[:n]...)
		for {
			line, after, whole := bytes.Cut(rest, []byte("\n"))
			if !whole {
				break
			}
			if err := on(line); err != nil {
				return nil, err
			}
			rest = after
		}
		if errors.Is(err, io.EOF) {
			return bytes.Clone(rest), nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// replaced opens the file that now has the path, if it is another one. A file that was cut short is an error.
func replaced(file *os.File, path string) (*os.File, error) {
	old, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if at, err := file.Seek(0, io.SeekCurrent); err != nil || at > old.Size() {
		return nil, errors.Join(err, fmt.Errorf("%s was cut short", path))
	}
	now, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil // between the rename and the new file
	}
	if err != nil || os.SameFile(old, now) {
		return nil, err
	}
	return os.Open(path)
}
