// Package shelf reads the recorded runs of a folder as evidence.
package shelf

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"academy.example/lab/labctl/internal/exercise/recorded"
	"academy.example/lab/labctl/internal/lab"
	"academy.example/lab/labctl/internal/pulse"
)

// Runs returns the measured runs in a folder that were made in the named lab (any, if it is empty) and did not begin before
// since, the oldest first. What can't be read is skipped, with an error for each.
func Runs(dir, name string, since time.Time) (runs []recorded.Run, skipped []error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, []error{err}
	}
	for _, entry := range entries {
		if !entry.IsDir() { // latest is a link
			continue
		}
		path := filepath.Join(dir, entry.Name())
		info, err := lab.ReadInfo(path)
		if err != nil {
			skipped = append(skipped, err)
			continue
		}
		if name != "" && info.Lab != name || info.Virtual() || info.StartedAt.Before(since) {
			continue
		}
		r, err := Run(path)
		if err != nil {
			skipped = append(skipped, err)
			continue
		}
		runs = append(runs, r)
	}
	slices.SortStableFunc(runs, func(a, b recorded.Run) int { return a.StartedAt.Compare(b.StartedAt) })
	return runs, skipped
}

// Run reads one run's folder and measures its trials again. A run in virtual time is an error: it is evidence of nothing that
// was done.
func Run(path string) (recorded.Run, error) {
	record, err := lab.ReadRecord(path)
	if err != nil {
		return recorded.Run{}, err
	}
	if record.Info.Virtual() {
		return recorded.Run{}, fmt.Errorf("run %s was simulated, and not measured", filepath.Base(path))
	}
	r := recorded.Run{Name: filepath.Base(path), Lab: record.Info.Lab, StartedAt: record.Info.StartedAt, Failover: record.Report(), NoHeartbeat: pulse.Silence(record.Events)}
	if r.Edited, err = record.Contradictions(r.Trials); err != nil {
		return recorded.Run{}, fmt.Errorf("compare run %s with its trials.json: %w", r.Name, err)
	}
	return r, nil
}
