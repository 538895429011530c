package cmd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"academy.example/lab/labctl/internal/check"
	"academy.example/lab/labctl/internal/exercise"
	"academy.example/lab/labctl/internal/exercise/shelf"
	"academy.example/lab/labctl/internal/report"
)

func (a *app) exerciseCheckCommand(k *course) *cobra.Command {
	var every bool
	c := &cobra.Command{
		Use:   "check [NN]",
		Short: "Check the answers against what was measured, and against the lab as it is",
		Long: "check holds the answers against the events of the runs made since the exercise was begun, and looks at the lab. What it has seen\n" +
			"once it remembers.\n\nExit code 0: passed; 1: something is wrong or missing; 2: what a verdict needs was not seen (no lab, a hole in the record).",
		Example: "  labctl exercise check\n  labctl exercise check 03 --json\n  labctl exercise check --all",
		Args:    oneExercise,
		RunE: func(c *cobra.Command, args []string) error {
			if err := a.openCourse(k); err != nil {
				return err
			}
			return a.exerciseCheck(c, k, every, args)
		},
	}
	c.Flags().BoolVar(&every, "all", false, "check each exercise that was begun")
	c.Flags().StringVar(&k.runsDir, "runs-dir", "", "folder of the runs")
	return c
}

func (a *app) exerciseCheck(c *cobra.Command, k *course, every bool, args []string) error {
	if every && len(args) > 0 {
		return usageError{command: c.CommandPath(), err: errors.New("--all means every exercise; it can't be joined with one")}
	}
	var chosen []exercise.Exercise
	if every {
		for _, e := range k.all {
			if k.progress.Exercises[e.Name] != nil {
				chosen = append(chosen, e)
			}
		}
	}
	if len(chosen) == 0 {
		e, err := k.pick(args)
		if err != nil {
			return err
		}
		chosen = append(chosen, e)
	}
	results := []exercise.Result{}
	for _, e := range chosen {
		entry := k.progress.Open(e, time.Now())
		evidence, err := a.evidence(c.Context(), k, e, entry)
		if err != nil {
			return err
		}
		results = append(results, exercise.Judge(e, entry, evidence))
	}
	if every {
		k.progress.Current = chosen[len(chosen)-1].Name
		if next, more := k.progress.Next(chosen); more {
			k.progress.Current = next.Name
		}
	}
	if err := k.progress.Write(k.file); err != nil {
		return err
	}
	if err := a.printResults(k, results); err != nil {
		return err
	}
	return exitFor(worst(results))
}

// worst is the verdict over several exercises.
func worst(results []exercise.Result) check.Verdict {
	var all []check.Check
	for _, r := range results {
		all = append(all, check.Check{Verdict: r.Verdict})
	}
	return check.Overall(all)
}

func (a *app) printResults(k *course, results []exercise.Result) error {
	if a.json {
		return report.JSON(a.streams.Out, map[string]any{"schema": report.Schema, "kind": "ExerciseCheck", "results": results, "verdict": worst(results), "file": k.file})
	}
	for _, r := range results {
		e, _ := exercise.Find(k.all, r.Exercise)
		fmt.Fprintf(a.streams.Out, "exercise %s: %s\n", e.Number(), e.Title)
		evidence := ""
		for _, i := range r.Items {
			mark := string(i.Verdict)
			if i.Recorded && i.Verdict == check.Pass {
				mark = "noted"
			}
			fmt.Fprintf(a.streams.Out, "  %-8s %-15s %s\n", mark, i.ID, i.Reason)
			if i.Evidence != "" && i.Evidence != evidence { // the same is told once
				fmt.Fprintf(a.streams.Out, "  %-8s %-15s %s\n", "", "", i.Evidence)
				evidence = i.Evidence
			}
		}
		fmt.Fprintf(a.streams.Out, "verdict: %s\n", r.Verdict)
		next := "labctl exercise hint " + e.Number()
		if r.Verdict == check.Pass {
			next = "labctl exercise solution " + e.Number() + " && labctl exercise next"
		}
		fmt.Fprintf(a.streams.Out, "next: %s\n", a.typed(next))
	}
	return nil
}

// evidence gathers what an exercise's questions are held against: runs since it was begun, and the lab if it is asked about.
func (a *app) evidence(ctx context.Context, k *course, e exercise.Exercise, entry *exercise.Entry) (exercise.Evidence, error) {
	evidence := exercise.Evidence{ClientGo: clientGo(), Now: time.Now(), NoLab: "the lab was not looked at"}
	dir, err := runsFolder(k.runsDir)
	if err != nil {
		return evidence, err
	}
	runs, skipped := shelf.Runs(dir, a.name, entry.Started)
	for _, err := range skipped {
		fmt.Fprintf(a.streams.Err, "note: a run is left out: %v\n", err)
	}
	evidence.Runs = runs
	if e.Looks(entry) {
		snapshot, err := a.snapshot(ctx, e.Asks(entry))
		if err != nil {
			evidence.NoLab = root(err).Error()
		} else {
			evidence.Lab = snapshot
		}
	}
	return evidence, nil
}
