package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"academy.example/lab/labctl/internal/check"
	"academy.example/lab/labctl/internal/exercise"
	"academy.example/lab/labctl/internal/exercise/recorded"
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
	results, err := a.judgeExercises(c.Context(), k, chosen, every)
	if err != nil {
		return err
	}
	if err := a.printResults(k, results); err != nil {
		return err
	}
	return exitFor(worst(results))
}

// judgeExercises holds exercises against what can be seen of them, and notes what was seen. Looking takes seconds: what was answered
// in the meantime counts. If it is every exercise, the first that is not passed is the current one from then on.
func (a *app) judgeExercises(ctx context.Context, k *course, chosen []exercise.Exercise, every bool) ([]exercise.Result, error) {
	begun := time.Now()
	var seen []exercise.Evidence
	for _, e := range chosen {
		evidence, err := a.evidence(ctx, k, e, k.progress.Open(e, begun))
		if err != nil {
			return nil, err
		}
		seen = append(seen, evidence)
	}
	results := []exercise.Result{}
	err := k.change(func() error {
		for i, e := range chosen {
			entry := k.progress.Open(e, begun)
			seen[i].Now = time.Now()
			seen[i].Runs = slices.DeleteFunc(seen[i].Runs, func(r recorded.Run) bool { return r.StartedAt.Before(entry.Started) }) // it was begun anew
			results = append(results, exercise.Judge(e, entry, seen[i]))
		}
		if every {
			k.progress.Current = chosen[len(chosen)-1].Name
			if next, more := k.progress.Next(chosen); more {
				k.progress.Current = next.Name
			}
		}
		return nil
	})
	return results, err
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
	passed := 0
	for _, r := range results {
		e, _ := exercise.Find(k.all, r.Exercise)
		if err := a.printResult(e, r); err != nil {
			return err
		}
		if r.Verdict == check.Pass {
			passed++
		}
	}
	if len(results) < 2 {
		return nil
	}
	_, err := fmt.Fprintf(a.streams.Out, "%d of %d exercises passed\n", passed, len(results))
	return err
}

// printResult prints the verdict on one exercise.
func (a *app) printResult(e exercise.Exercise, r exercise.Result) error {
	fmt.Fprintf(a.streams.Out, "exercise %s: %s\n", e.Number(), e.Title)
	evidence := ""
	for _, i := range r.Items {
		fmt.Fprintf(a.streams.Out, "  %-8s %-15s %s\n", mark(i), i.ID, i.Reason)
		if i.Evidence != "" && i.Evidence != evidence { // the same is told once
			fmt.Fprintf(a.streams.Out, "  %-8s %-15s %s\n", "", "", i.Evidence)
			evidence = i.Evidence
		}
	}
	next := "labctl exercise hint " + e.Number()
	switch {
	case r.Verdict == check.Pass:
		fmt.Fprintf(a.streams.Out, "verdict: %s\n", r.Verdict)
		next = "labctl exercise solution " + e.Number() + " && labctl exercise next"
	case r.Open:
		fmt.Fprintf(a.streams.Out, "verdict: not done yet (%d of %d)\n", r.Done(), len(r.Items))
		next = a.nextStep(e, r)
	default:
		fmt.Fprintf(a.streams.Out, "verdict: %s (%d of %d pass)\n", r.Verdict, r.Done(), len(r.Items))
	}
	_, err := fmt.Fprintf(a.streams.Out, "next: %s\n", a.typed(next))
	return err
}

// mark is the word before an item.
func mark(i exercise.Item) string {
	switch {
	case i.Open:
		return "open"
	case i.Recorded && i.Verdict == check.Pass:
		return "noted"
	default:
		return string(i.Verdict)
	}
}

// nextStep tells what is to be done first of what is open, and returns what to type.
func (a *app) nextStep(e exercise.Exercise, r exercise.Result) string {
	id, _ := r.Next()
	q, _ := e.Question(id)
	if q.Kind != exercise.Measured && q.Kind != exercise.Observation {
		return q.Typed()
	}
	fmt.Fprintf(a.streams.Out, "first of what is open: %s: %s\n", q.ID, q.Ask)
	return cmp.Or(q.Command(), "labctl exercise show "+e.Number())
}

// nextInExercise is what to type after a run in this lab while an exercise is open: begun, the current one and not passed. It is
// empty if none is, or if the progress can't be read.
func (a *app) nextInExercise() string {
	k := course{}
	if err := a.openCourse(&k); err != nil || k.progress.Current == "" {
		return ""
	}
	if e, err := k.pick(nil); err != nil || k.progress.State(e) != exercise.Begun {
		return ""
	}
	return "labctl exercise check"
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
			maps.DeleteFunc(snapshot.Gate, func(_ string, at time.Time) bool { return at.Before(entry.Since(e, "").Truncate(time.Second)) })
			evidence.Lab = snapshot
		}
	}
	return evidence, nil
}
