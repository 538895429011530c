package lab

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"academy.example/lab/labctl/internal/report"
	"academy.example/lab/labctl/internal/timeline"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func TestFolder_TwoRunsInOneSecondAreKeptApart(t *testing.T) {
	runs := filepath.Join(t.TempDir(), "deep", "runs")
	var paths []string
	for range 2 {
		f, err := newFolder(runs, noon, RunInfo{})
		if err != nil {
			t.Fatal(err)
		}
		defer f.close()
		paths = append(paths, f.Path)
	}
	if paths[0] == paths[1] {
		t.Errorf("both runs are in %s", paths[0])
	}
	target, err := os.Readlink(filepath.Join(runs, "latest"))
	if err != nil || target != filepath.Base(paths[1]) {
		t.Errorf("latest points to %q (%v), want %q", target, err, filepath.Base(paths[1]))
	}
}

func TestFolder_HoldsWhatWasMeasured(t *testing.T) {
	f, err := newFolder(t.TempDir(), noon, RunInfo{Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Append(timeline.Event{Kind: timeline.RunStarted, Wall: noon}); err != nil {
		t.Fatal(err)
	}
	if err := f.finish(report.NewFailover(report.Header{}, nil, f.Path)); err != nil {
		t.Fatal(err)
	}
	if err := f.close(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"run.json", "timeline.jsonl", "trials.json", "report.md"} {
		info, err := os.Stat(filepath.Join(f.Path, name))
		if err != nil || info.Size() == 0 || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v; want a private file with content", name, info, err)
		}
	}
	data, err := os.ReadFile(filepath.Join(f.Path, "run.json"))
	if err != nil {
		t.Fatal(err)
	}
	var info RunInfo
	if err := json.Unmarshal(data, &info); err != nil || info.Seed != 7 {
		t.Errorf("run.json: seed %d, %v; want 7", info.Seed, err)
	}
}

func TestNewFolder_AFolderThatCannotBeMadeHasAHint(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := newFolder(file, noon, RunInfo{})
	if err == nil || hintOf(err) == "" {
		t.Errorf("got %v with hint %q, want an error with a hint", err, hintOf(err))
	}
}
