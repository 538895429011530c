package cmd

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"academy.example/lab/labctl/internal/exercise"
	"academy.example/lab/labctl/internal/exercise/shelf"
	"academy.example/lab/labctl/internal/lab"
	"academy.example/lab/labctl/internal/provider"
	"academy.example/lab/labctl/internal/whole"
)

func (a *app) exerciseRecordCommand(k *course) *cobra.Command {
	c := a.exerciseOne(k, "record [NN]", "For authors: keep your own solution as the proof that an exercise can be solved", a.exerciseRecord)
	c.Long = "record copies your answers and the runs that you made for them into the exercise's folder (testdata), in the place of what was\n" +
		"recorded there before. The lint then shows that the exercise passes with them, and fails without any one of them."
	c.Example = "  labctl exercise record 04 --exercises ./exercises"
	return c
}

func (a *app) exerciseRecord(k *course, args []string) error {
	e, err := k.pick(args)
	if err != nil {
		return err
	}
	if k.dir == "" {
		return &provider.Problem{Err: fmt.Errorf("the exercises in the program can't be changed"), Hint: "labctl exercise record " + e.Number() + " --exercises ./exercises"}
	}
	entry := k.progress.Exercises[e.Name]
	if entry == nil || entry.Passed == nil {
		return &provider.Problem{Err: fmt.Errorf("exercise %s was not passed yet: there is no solution to keep", e.Number()), Hint: fmt.Sprintf("labctl exercise check %s --exercises %s", e.Number(), shellWord(k.dir))}
	}
	folder := filepath.Join(k.dir, e.Name)
	runs, err := a.keepRuns(folder, *entry)
	if err == nil {
		var data []byte
		if data, err = yaml.Marshal(entry); err == nil {
			err = whole.Write(filepath.Join(folder, exercise.ProofEntry), data, 0o644)
		}
	}
	if err != nil {
		return &provider.Problem{Err: fmt.Errorf("record exercise %s: %w", e.Number(), err), Hint: "ls -ld " + shellWord(folder)}
	}
	fmt.Fprintf(a.streams.Out, "exercise %s: your answers and %d runs are in %s\nnext: labctl exercise lint %s\n", e.Number(), runs, filepath.Join(folder, "testdata"), shellWord(k.dir))
	return nil
}

// keepRuns copies the runs that were made while the exercise was done, without what can be computed from their events.
func (a *app) keepRuns(folder string, entry exercise.Entry) (n int, err error) {
	from, err := lab.RunsDir()
	if err != nil {
		return 0, err
	}
	to := filepath.Join(folder, exercise.ProofRuns)
	if err := os.RemoveAll(to); err != nil {
		return 0, err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return 0, err
	}
	runs, _ := shelf.Runs(from, a.name, entry.Started)
	for _, r := range runs {
		if r.StartedAt.After(*entry.Passed) {
			continue
		}
		n++
		for _, name := range []string{"run.json", "timeline.jsonl"} {
			data, err := whole.Read(filepath.Join(from, r.Name, name), whole.Record)
			if err == nil {
				err = os.MkdirAll(filepath.Join(to, r.Name), 0o755)
			}
			if err == nil {
				err = whole.Write(filepath.Join(to, r.Name, name), data, 0o644)
			}
			if err != nil {
				return n, err
			}
		}
	}
	return n, nil
}
