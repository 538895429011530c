package process

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// recordName is the file beside a container's logs that names its process.
const recordName = "process.json"

type record struct {
	PID   int    `json:"pid"`
	Start string `json:"start"` // tells this life of the number from a later one
}

// Record writes which process runs in dir, so that Sweep can find it after this program has died.
func (p *Process) Record(dir string) error {
	start, err := startToken(p.PID())
	if err != nil {
		// It has ended already: nothing to sweep.
		return nil
	}
	data, err := json.Marshal(record{PID: p.PID(), Start: start})
	if err != nil {
		return fmt.Errorf("record process %d: %w", p.PID(), err)
	}
	return WriteFile(filepath.Join(dir, recordName), data)
}

// Sweep kills the groups of recorded processes below dir that still live, and returns how many; a number that was
// given to another process meanwhile is left alone.
func Sweep(dir string) (int, error) {
	killed := 0
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || entry.IsDir() || entry.Name() != recordName {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var r record
		if json.Unmarshal(data, &r) == nil && r.alive() && signalGroup(r.PID, syscall.SIGKILL) == nil {
			killed++
		}
		return os.Remove(path)
	})
	if err != nil {
		return killed, fmt.Errorf("sweep %s: %w", dir, err)
	}
	return killed, nil
}

func (r record) alive() bool {
	if r.PID <= 1 || r.Start == "" {
		return false
	}
	start, err := startToken(r.PID)
	return err == nil && start == r.Start
}

// WriteFile puts data at path in one step (0600): a reader sees the old content or the new, never a part.
func WriteFile(path string, data []byte) error {
	temp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	_, err = temp.Write(data)
	if closeErr := temp.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		_ = os.Remove(temp.Name()) // the first error is the one to tell
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
