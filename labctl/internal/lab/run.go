package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"academy.example/lab/labctl/internal/provider"
	"academy.example/lab/labctl/internal/report"
	"academy.example/lab/labctl/internal/timeline"
	"academy.example/lab/labctl/internal/whole"
)

// Folder is where one run is recorded: run.json, timeline.jsonl, trials.json, report.md.
type Folder struct {
	Path     string
	timeline *os.File
	*timeline.Writer
}

// RunInfo is run.json: what was asked for and with what, and nothing that came of it.
type RunInfo struct {
	report.Header
	Modes     []string  `json:"modes"`
	Trials    int       `json:"trialsPerMode"`
	Lanes     int       `json:"lanes"` // sets of replicas; 1 is the operator itself
	Seed      uint64    `json:"seed"`  // of the random phases
	StartedAt time.Time `json:"startedAt"`
	Labctl    string    `json:"labctl"` // its version
	Lab       string    `json:"lab"`    // its name
}

// kindRun is the kind of run.json, and latestRun the name that points to the newest run.
const (
	kindRun   = "Run"
	latestRun = "latest"
)

// RunsDir is the folder of runs unless --runs-dir names another.
func RunsDir() (string, error) {
	base := os.Getenv("XDG_DATA_HOME")
	if base == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", &provider.Problem{Err: fmt.Errorf("find the folder of runs: %w", err), Hint: "export XDG_DATA_HOME=$(mktemp -d)"}
		}
		base = filepath.Join(home, ".local", "share")
	}
	return filepath.Join(base, "labctl", "runs"), nil
}

// newFolder makes the folder of a run and points `latest` to it.
func newFolder(runs string, now time.Time, info RunInfo) (*Folder, error) {
	what := "-failover"
	if info.Virtual() {
		what = "-simulated"
	}
	path, err := makeUnique(runs, now.Format("20060102-150405")+what)
	if err != nil {
		return nil, &provider.Problem{Err: fmt.Errorf("make the folder of the run: %w", err), Hint: "export XDG_DATA_HOME=$(mktemp -d)"}
	}
	f := &Folder{Path: path}
	if err := f.write("run.json", info); err != nil {
		os.RemoveAll(path) // nothing is in it
		return nil, err
	}
	if f.timeline, err = os.OpenFile(filepath.Join(path, "timeline.jsonl"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600); err != nil {
		return nil, fmt.Errorf("make the timeline: %w", err)
	}
	f.Writer = timeline.NewWriter(f.timeline)
	return f, latest(runs, filepath.Base(path))
}

// makeUnique makes runs/name, or runs/name-2 and so on if two runs begin in one second.
func makeUnique(runs, name string) (string, error) {
	if err := os.MkdirAll(runs, 0o700); err != nil {
		return "", err
	}
	for n := 1; ; n++ {
		path := filepath.Join(runs, name)
		if n > 1 {
			path = fmt.Sprintf("%s-%d", path, n)
		}
		err := os.Mkdir(path, 0o700)
		if err == nil || !errors.Is(err, os.ErrExist) {
			return path, err
		}
	}
}

// latest points runs/latest to the newest run, by rename, so that it is never missing.
func latest(runs, target string) error {
	link := filepath.Join(runs, ".latest-"+target)
	if err := os.Symlink(target, link); err != nil {
		return fmt.Errorf("point latest to the run: %w", err)
	}
	if err := os.Rename(link, filepath.Join(runs, latestRun)); err != nil {
		os.Remove(link)
		return fmt.Errorf("point latest to the run: %w", err)
	}
	return nil
}

// finish writes what the trials so far amount to. It is called after each trial, so that a killed run keeps them.
func (f *Folder) finish(r report.Failover) error {
	r.Run = filepath.Base(f.Path) // where the folder is names the user, and changes when it is handed on
	if err := f.write("trials.json", r); err != nil {
		return err
	}
	out, err := os.OpenFile(filepath.Join(f.Path, "report.md"), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return errors.Join(report.Markdown(out, r), out.Close(), f.Err())
}

// write replaces a JSON file.
func (f *Folder) write(name string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	if err := whole.Write(filepath.Join(f.Path, name), append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

func (f *Folder) close() error { return f.timeline.Close() }
