package cmd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"academy.example/lab/exercises"
	"academy.example/lab/labctl/internal/exercise"
	"academy.example/lab/labctl/internal/exercise/shelf"
	"academy.example/lab/labctl/internal/provider"
	"academy.example/lab/labctl/internal/report"
)

func (a *app) exerciseLintCommand(k *course) *cobra.Command {
	return &cobra.Command{
		Use:   "lint [FOLDER]",
		Short: "For authors: check the exercises themselves",
		Long: "lint checks each exercise of a folder: its files, its questions, its citations. Where the folder has a recorded solution\n" +
			"(testdata/solved.yaml and testdata/runs), each exercise must pass with it, and fail without any one part of it.",
		Example: "  labctl exercise lint ./exercises",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				k.dir = args[0]
			}
			return a.exerciseLint(k.dir)
		},
	}
}

func (a *app) exerciseLint(dir string) error {
	var root fs.FS = exercises.FS
	if dir != "" {
		root = os.DirFS(dir)
	}
	all, err := exercise.Load(root)
	if err != nil {
		return &provider.Problem{Err: err, Hint: "labctl exercise lint --help"}
	}
	findings := []exercise.Finding{}
	wrong := 0
	for _, e := range all {
		proof, err := readProof(dir, e)
		f := exercise.Lint(root, e, proof)
		if err != nil {
			f.Problems = append(f.Problems, err.Error())
		}
		wrong += len(f.Problems)
		findings = append(findings, f)
	}
	if a.json {
		err = report.JSON(a.streams.Out, map[string]any{"schema": report.Schema, "kind": "Lint", "exercises": findings})
	} else {
		err = a.printFindings(findings)
	}
	if err == nil && wrong > 0 {
		return verdictError{ExitFail}
	}
	return err
}

func (a *app) printFindings(findings []exercise.Finding) error {
	for _, f := range findings {
		switch {
		case len(f.Problems) > 0:
			fmt.Fprintf(a.streams.Out, "fail  %s\n", f.Exercise)
			for _, p := range f.Problems {
				fmt.Fprintf(a.streams.Out, "      %s\n", p)
			}
		case f.Proven:
			fmt.Fprintf(a.streams.Out, "pass  %s: fails unsolved, passes solved\n", f.Exercise)
		default:
			fmt.Fprintf(a.streams.Out, "pass  %s: its texts; there is no recorded solution here\n", f.Exercise)
		}
		if len(f.Recorded) > 0 {
			fmt.Fprintf(a.streams.Out, "      recorded, for the instructor: %s\n", strings.Join(f.Recorded, ", "))
		}
	}
	return nil
}

// readProof reads an exercise's recorded solution; nil if there is none.
func readProof(dir string, e exercise.Exercise) (*exercise.Proof, error) {
	if dir == "" {
		return nil, nil
	}
	folder := filepath.Join(dir, e.Name)
	data, err := os.ReadFile(filepath.Join(folder, exercise.ProofEntry))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	entry, err := exercise.ReadEntry(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", exercise.ProofEntry, err)
	}
	runs, skipped := shelf.Runs(filepath.Join(folder, exercise.ProofRuns), "", time.Time{})
	return &exercise.Proof{Entry: entry, Runs: runs}, errors.Join(skipped...)
}
