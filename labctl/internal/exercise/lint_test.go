package exercise_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"academy.example/lab/exercises"
	"academy.example/lab/labctl/internal/exercise"
	"academy.example/lab/labctl/internal/exercise/shelf"
)

const folder = "../../../exercises"

// proofOf reads the recorded solution that lies beside an exercise.
func proofOf(t testing.TB, name string) exercise.Proof {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(folder, name, exercise.ProofEntry))
	if err != nil {
		t.Fatal(err)
	}
	entry, err := exercise.ReadEntry(data)
	if err != nil {
		t.Fatal(err)
	}
	runs, skipped := shelf.Runs(filepath.Join(folder, name, exercise.ProofRuns), "", time.Time{})
	if err := errors.Join(skipped...); err != nil {
		t.Fatal(err)
	}
	return exercise.Proof{Entry: entry, Runs: runs}
}

func load(t testing.TB, root fs.FS) []exercise.Exercise {
	t.Helper()
	all, err := exercise.Load(root)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestEveryExercise_failsUnsolvedAndPassesSolved is the lint, with the recorded solutions.
func TestEveryExercise_failsUnsolvedAndPassesSolved(t *testing.T) {
	root := os.DirFS(folder)
	all := load(t, root)
	if len(all) < 17 {
		t.Errorf("got %d exercises, want 17 or more", len(all))
	}
	for i, e := range all {
		if want := fmt.Sprintf("%02d", i+1); e.Number() != want {
			t.Errorf("got %s where number %s should be", e.Name, want)
		}
		proof := proofOf(t, e.Name)
		f := exercise.Lint(root, e, &proof)
		for _, p := range f.Problems {
			t.Errorf("%s: %s", e.Name, p)
		}
		if !f.Proven {
			t.Errorf("%s is not proven", e.Name)
		}
	}
}

func TestEmbedded_isTheFolder(t *testing.T) {
	for _, e := range load(t, exercises.FS) {
		for name, text := range map[string]string{"README.md": e.Readme, "solution.md": e.Solution} {
			data, err := os.ReadFile(filepath.Join(folder, e.Name, name))
			if err != nil || string(data) != text {
				t.Errorf("%s/%s: %v, or it is not what is embedded", e.Name, name, err)
			}
		}
	}
}

// Two exercises of one number: the second could not be begun by it.
func TestLoad_TwoOfOneNumber(t *testing.T) {
	twice := fstest.MapFS{}
	const name = "04-delete-the-holder-gracefully"
	for _, file := range []string{"README.md", "exercise.yaml", "hints.md", "solution.md"} {
		data, err := os.ReadFile(filepath.Join(folder, name, file))
		if err != nil {
			t.Fatal(err)
		}
		twice[name+"/"+file], twice["04-twice/"+file] = &fstest.MapFile{Data: data}, &fstest.MapFile{Data: data}
	}
	if _, err := exercise.Load(twice); err == nil || !strings.Contains(err.Error(), "04-delete-the-holder-gracefully and 04-twice have one number") {
		t.Errorf("got %v", err)
	}
}
