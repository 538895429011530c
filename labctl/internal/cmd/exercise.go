package cmd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"academy.example/lab/exercises"
	"academy.example/lab/labctl/internal/exercise"
	"academy.example/lab/labctl/internal/lab"
	"academy.example/lab/labctl/internal/provider"
	"academy.example/lab/labctl/internal/report"
)

// course is what the exercise commands share: the exercises, the student's progress and where both are.
type course struct {
	dir     string // --exercises; empty for those in the program
	runsDir string // --runs-dir

	all      []exercise.Exercise
	file     string // of the progress
	progress *exercise.Progress
	damaged  bool // whether the file is there and can't be read
}

func (a *app) exerciseCommand() *cobra.Command {
	var k course
	c := &cobra.Command{
		Use:   "exercise",
		Short: "Do the exercises: predict, run, see, write down, be checked",
		Long: "The exercises are in the program; NN is the number of one, and without it the current one is meant. What you answer is kept\n" +
			"in one readable file for each lab. A prediction must be written down before the run that it is about.",
		Example: "  labctl exercise next\n  labctl exercise answer predict-gap=SECONDS\n  labctl exercise check",
		Args:    cobra.ArbitraryArgs,
		RunE:    group,

		SuggestionsMinimumDistance: 2,
	}
	c.PersistentFlags().StringVar(&k.dir, "exercises", "", "folder of exercises to use in place of those in the program")
	c.AddCommand(a.exerciseListCommand(&k),
		a.exerciseOne(&k, "next", "Go on: begin the next exercise, or resume the current one", a.exerciseNext),
		a.exerciseOne(&k, "show [NN]", "Show an exercise and its questions without beginning it", a.exerciseShow),
		a.exerciseOne(&k, "start NN", "Begin an exercise, or go back to one", a.exerciseStart),
		a.exerciseAnswerCommand(&k), a.exerciseCheckCommand(&k),
		a.exerciseOne(&k, "hint [NN]", "Show the next hint", a.exerciseHint),
		a.exerciseResetCommand(&k), a.exerciseSolutionCommand(&k), a.exerciseLintCommand(&k), a.exerciseRecordCommand(&k))
	return c
}

// exerciseOne is a command that takes the number of an exercise at most.
func (a *app) exerciseOne(k *course, use, short string, run func(*course, []string) error) *cobra.Command {
	return &cobra.Command{Use: use, Short: short, Args: oneExercise, RunE: func(_ *cobra.Command, args []string) error {
		if err := a.openCourse(k); err != nil {
			return err
		}
		return run(k, args)
	}}
}

func oneExercise(c *cobra.Command, args []string) error {
	if len(args) > 1 {
		return usageError{command: c.CommandPath(), err: fmt.Errorf("%s takes one exercise, not %d", c.CommandPath(), len(args))}
	}
	return nil
}

// loadExercises reads the exercises, and returns the folder that they are in.
func (a *app) loadExercises(k *course) (root fs.FS, err error) {
	a.exercises = k.dir
	root = exercises.FS
	if k.dir != "" {
		root = os.DirFS(k.dir)
	}
	if k.all, err = exercise.Load(root); err != nil {
		hint := "labctl exercise list"
		if k.dir != "" {
			hint = "labctl exercise lint " + shellWord(k.dir)
		}
		return nil, &provider.Problem{Err: err, Hint: hint}
	}
	return root, nil
}

// openCourse reads the exercises and the progress.
func (a *app) openCourse(k *course) error {
	_, err := a.loadExercises(k)
	if err != nil {
		return err
	}
	if k.file, err = a.progressFile(); err != nil {
		return err
	}
	k.progress, err = exercise.ReadProgress(k.file)
	k.damaged = err != nil && !errors.Is(err, fs.ErrPermission)
	return k.unread(err)
}

// unread is the problem of a progress that can't be read, with a way out that keeps the file; nil without an error.
func (k *course) unread(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrPermission):
		return &provider.Problem{Err: err, Hint: "ls -l " + shellWord(k.file)}
	default:
		return &provider.Problem{Err: err, Hint: fmt.Sprintf("mv %s %s && labctl exercise next", shellWord(k.file), shellWord(k.file+setAside))}
	}
}

// setAside is how the name of a progress ends that could not be read and is kept.
const setAside = ".damaged"

// change has the progress changed and written, as it is by now: another labctl may have written it since it was read.
func (k *course) change(do func() error) error {
	read := false
	err := exercise.ChangeProgress(k.file, func(p *exercise.Progress) error {
		k.progress, read = p, true
		return do()
	})
	if of := new(fs.PathError); err != nil && !read && !errors.As(err, &of) { // which names the file, and is no matter of what is in it
		return k.unread(err)
	}
	return err
}

// progressFile is where the progress in a lab is kept: beside the runs, which it is about.
func (a *app) progressFile() (string, error) {
	runs, err := lab.RunsDir()
	return filepath.Join(filepath.Dir(runs), "progress", a.name+".yaml"), err
}

// pick returns the exercise that was named, or the current one.
func (k *course) pick(args []string) (exercise.Exercise, error) {
	word := k.progress.Current
	if len(args) > 0 {
		word = args[0]
	}
	if word == "" {
		return exercise.Exercise{}, &provider.Problem{Err: errors.New("no exercise was begun yet"), Hint: "labctl exercise next"}
	}
	e, ok := exercise.Find(k.all, word)
	if !ok {
		return e, &provider.Problem{Err: fmt.Errorf("there is no exercise %q", word), Hint: "labctl exercise list"}
	}
	return e, nil
}

func (a *app) exerciseListCommand(k *course) *cobra.Command {
	return &cobra.Command{Use: "list", Short: "List the exercises and what is done of them", Args: noArgs, RunE: func(*cobra.Command, []string) error {
		if err := a.openCourse(k); err != nil {
			return err
		}
		return a.exerciseList(k)
	}}
}

// exerciseRow is one exercise in `exercise list --json`.
type exerciseRow struct {
	Name          string `json:"name"`
	Title         string `json:"title"`
	Minutes       int    `json:"minutes"`
	State         string `json:"state"` // -, begun or passed
	Seed          string `json:"seed"`
	Misconception string `json:"misconception"`
}

func (a *app) exerciseList(k *course) error {
	rows := []exerciseRow{}
	for _, e := range k.all {
		rows = append(rows, exerciseRow{e.Name, e.Title, e.Minutes, k.progress.State(e), e.Seed, e.Misconception})
	}
	if a.json {
		return report.JSON(a.streams.Out, map[string]any{"schema": report.Schema, "kind": "Exercises", "current": k.progress.Current, "exercises": rows})
	}
	table := tabwriter.NewWriter(a.streams.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NN\tEXERCISE\tMINUTES\tSTATE")
	for i, r := range rows {
		fmt.Fprintf(table, "%s\t%s\t%d\t%s\n", k.all[i].Number(), r.Title, r.Minutes, r.State)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	next := "labctl exercise next"
	if _, more := k.progress.Next(k.all); !more {
		next = "labctl checklist fill my-checklist.md"
	}
	_, err := fmt.Fprintf(a.streams.Out, "next: %s\n", a.typed(next))
	return err
}

func (a *app) exerciseNext(k *course, args []string) error {
	if len(args) > 0 {
		return a.exerciseStart(k, args)
	}
	e, more := k.progress.Next(k.all)
	if !more {
		_, err := fmt.Fprintf(a.streams.Out, "all %d exercises are passed\nnext: %s\n", len(k.all), a.typed("labctl checklist fill my-checklist.md"))
		return err
	}
	return a.begin(k, e)
}

func (a *app) exerciseStart(k *course, args []string) error {
	if len(args) == 0 {
		return usageError{command: "labctl exercise start", err: errors.New("start takes the number of an exercise")}
	}
	e, err := k.pick(args)
	if err != nil {
		return err
	}
	return a.begin(k, e)
}

// begin makes an exercise the current one and shows it.
func (a *app) begin(k *course, e exercise.Exercise) error {
	var entry *exercise.Entry
	var resumed bool
	err := k.change(func() error {
		entry, resumed = k.progress.Start(e, time.Now())
		return nil
	})
	if err != nil {
		return err
	}
	if resumed {
		fmt.Fprintf(a.streams.Err, "begun at %s; labctl exercise reset begins it anew\n", entry.Started.Local().Format(time.DateTime))
	}
	return a.print(k, e)
}

func (a *app) exerciseShow(k *course, args []string) error {
	if len(args) == 0 && k.progress.Current == "" {
		args = []string{k.all[0].Name}
	}
	e, err := k.pick(args)
	if err != nil {
		return err
	}
	return a.print(k, e)
}

// print shows an exercise's text and what it asks: until all is predicted, no more than its predictions need.
func (a *app) print(k *course, e exercise.Exercise) error {
	entry := k.progress.Exercises[e.Name]
	readme, questions := e.Shown(entry)
	if a.json {
		return report.JSON(a.streams.Out, map[string]any{"schema": report.Schema, "kind": "Exercise", "name": e.Name, "data": publicData(e, entry), "readme": readme, "progress": entry, "file": k.file})
	}
	out := a.streams.Out
	fmt.Fprintf(out, "%s\n## Questions\n\n", a.spelled(readme))
	for _, q := range questions {
		value := ""
		if entry != nil && entry.Answers[q.ID] != "" {
			value = " = " + entry.Answers[q.ID]
		}
		fmt.Fprintf(out, "  %-15s %s%s\n", q.ID, q.Ask, value)
		for _, l := range exercise.Letters(q) {
			fmt.Fprintf(out, "  %15s %s) %s\n", "", l, q.Options[l])
		}
	}
	if missing := e.Unpredicted(entry); len(missing) > 0 {
		fmt.Fprintf(out, "\nabout %d minutes; the rest is shown when you have predicted, since it would give the answer away\n", e.Minutes)
		_, err := fmt.Fprintf(out, "answers are kept in %s\nnext: %s, then %s\n", k.file, a.typed(missing[0].Typed()), a.typed("labctl exercise show "+e.Number()))
		return err
	}
	fmt.Fprintf(out, "\nabout %d minutes; from: %s\n", e.Minutes, e.Seed)
	_, err := fmt.Fprintf(out, "answers are kept in %s\nnext: %s, then %s (%s if stuck)\n", k.file,
		a.typed("labctl exercise answer ID=VALUE"), a.typed("labctl exercise check"), a.typed("labctl exercise hint"))
	return err
}

// publicData is an exercise's data without the answers, which are shown after passing, and before all is predicted without what
// would give a prediction away.
func publicData(e exercise.Exercise, entry *exercise.Entry) exercise.Data {
	d := e.Data
	if entry != nil && entry.Passed != nil {
		return d
	}
	if len(e.Unpredicted(entry)) > 0 {
		d.Seed, d.Source, d.Misconception = "", nil, ""
	}
	d.Questions = nil
	_, shown := e.Shown(entry)
	for _, q := range shown {
		q.Correct, q.Functions = "", nil
		d.Questions = append(d.Questions, q)
	}
	return d
}

// spelled makes the commands of a text ones that can be copied, if this lab has a name of its own.
func (a *app) spelled(text string) string {
	if a.name == provider.DefaultLab {
		return text
	}
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		if command, ok := strings.CutPrefix(l, "    labctl "); ok && !strings.Contains(l, " && ") {
			lines[i] = "    labctl " + command + " --name " + a.name
		}
	}
	return strings.Join(lines, "\n")
}
