package cmd

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"academy.example/lab/labctl/internal/exercise"
	"academy.example/lab/labctl/internal/lab"
	"academy.example/lab/labctl/internal/report"
)

const exercisesFolder = "../../../exercises"

// TestExerciseTranscripts plays testdata/exercise/*.txtar: the exercises and the checklist where no lab runs. SOLVED is a
// file of progress in which every exercise is solved, and RUNS the runs that it is about.
func TestExerciseTranscripts(t *testing.T) {
	if testing.Short() {
		t.Skip("they begin labctl hundreds of times")
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/exercise",
		Setup: func(e *testscript.Env) error {
			folder, err := filepath.Abs(exercisesFolder)
			if err != nil {
				return err
			}
			for name, value := range map[string]string{"EXERCISES": folder, "HOME": e.WorkDir, "XDG_STATE_HOME": e.WorkDir + "/state", "XDG_DATA_HOME": e.WorkDir + "/data",
				"SOLVED": e.WorkDir + "/solved.yaml", "RUNS": e.WorkDir + "/runs"} {
				e.Setenv(name, value)
			}
			return solvedProgress(folder, e.WorkDir)
		},
	})
}

// keepRun copies a recorded run, with the trials.json that labctl wrote when it ended.
func keepRun(from, to string) error {
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		return err
	}
	record, err := lab.ReadRecord(to)
	if err != nil {
		return err
	}
	measured := record.Report()
	measured.Run = filepath.Base(to)
	var out bytes.Buffer
	if err := report.JSON(&out, measured); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(to, "trials.json"), out.Bytes(), 0o600)
}

// solvedProgress puts the recorded solutions of all exercises together.
func solvedProgress(folder, work string) error {
	all, err := exercise.Load(os.DirFS(folder))
	if err != nil {
		return err
	}
	p := exercise.Progress{Format: exercise.Format, Exercises: map[string]*exercise.Entry{}}
	runs := map[string]bool{}
	for _, e := range all {
		data, err := os.ReadFile(filepath.Join(folder, e.Name, exercise.ProofEntry))
		if err != nil {
			return err
		}
		entry, err := exercise.ReadEntry(data)
		if err != nil {
			return err
		}
		p.Exercises[e.Name] = &entry
		found, err := filepath.Glob(filepath.Join(folder, e.Name, exercise.ProofRuns, "*"))
		if err != nil {
			return err
		}
		for _, run := range found {
			if name := filepath.Base(run); !runs[name] {
				runs[name] = true
				if err := keepRun(run, filepath.Join(work, "runs", name)); err != nil {
					return err
				}
			}
		}
	}
	if err := os.WriteFile(filepath.Join(work, "bin.junk"), []byte("\x7fELF\x02\x00\xff\xfe"), 0o600); err != nil {
		return err
	}
	return p.Write(filepath.Join(work, "solved.yaml"))
}
