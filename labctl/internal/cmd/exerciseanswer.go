package cmd

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"academy.example/lab/labctl/internal/exercise"
	"academy.example/lab/labctl/internal/provider"
)

func (a *app) exerciseAnswerCommand(k *course) *cobra.Command {
	return &cobra.Command{
		Use:   "answer [NN] ID=VALUE…",
		Short: "Write answers down; a prediction counts from this moment",
		Long: "answer notes one or more answers in the file of the progress, which can be edited as well. A prediction that is changed counts\n" +
			"from the change on, and so do the runs that it is about. Once the exercise is passed it stays as it was made.",
		Example: "  labctl exercise answer predict-gap=SECONDS\n  labctl exercise answer ticks=LETTER standby=LETTER\n  labctl exercise answer 02 in-words='a candidate checks …'",
		RunE: func(c *cobra.Command, args []string) error {
			if err := a.openCourse(k); err != nil {
				return err
			}
			return a.exerciseAnswer(c, k, args)
		},
	}
}

func (a *app) exerciseAnswer(c *cobra.Command, k *course, args []string) error {
	var named []string
	if len(args) > 0 && !strings.Contains(args[0], "=") {
		if _, ok := exercise.Find(k.all, args[0]); !ok {
			return notAnswer(c, args[0])
		}
		named, args = args[:1], args[1:]
	}
	var e exercise.Exercise
	var entry *exercise.Entry
	before := ""
	err := k.change(func() (err error) {
		if e, err = k.pick(named); err != nil {
			return err
		}
		if len(args) == 0 {
			return usageError{command: c.CommandPath(), err: errors.New("answer takes ID=VALUE, one or more")}
		}
		entry = k.progress.Open(e, time.Now())
		before, _ = e.Shown(entry)
		return noteAnswers(c, e, entry, args)
	})
	if err != nil {
		return err
	}
	for _, arg := range args {
		id, _, _ := strings.Cut(arg, "=")
		fmt.Fprintf(a.streams.Out, "exercise %s: %s = %s\n", e.Number(), id, entry.Answers[id])
	}
	if entry.Passed != nil {
		_, err := fmt.Fprintf(a.streams.Out, "it was passed before; what is handed in is what stands here now, so check it again\nnext: %s\n", a.typed("labctl exercise check "+e.Number()))
		return err
	}
	return a.afterAnswers(e, entry, before)
}

// noteAnswers notes answers of the form ID=VALUE.
func noteAnswers(c *cobra.Command, e exercise.Exercise, entry *exercise.Entry, args []string) error {
	for _, arg := range args {
		id, value, ok := strings.Cut(arg, "=")
		if !ok {
			return notAnswer(c, arg)
		}
		q, known := e.Question(id)
		if !known {
			return &provider.Problem{Err: fmt.Errorf("exercise %s has no question %q; it has %s", e.Number(), id, strings.Join(ids(e), ", ")), Hint: "labctl exercise show " + e.Number()}
		}
		if made := entry.Predicted[id].Value; entry.Passed != nil && q.Kind == exercise.Prediction && value != made {
			return &provider.Problem{Err: fmt.Errorf("exercise %s was passed at %s with %s=%s; what is said afterwards predicts nothing",
				e.Number(), entry.Passed.Local().Format(time.DateTime), id, made), Hint: "labctl exercise reset " + e.Number() + "   # forgets it, to do it anew"}
		}
		err := entry.Answer(q, value, time.Now())
		if err == nil && e.Copied(id, value) {
			err = fmt.Errorf("%s: %q stands in the text for what you are to write", id, value)
		}
		if err != nil {
			return &provider.Problem{Err: err, Hint: "labctl exercise show " + e.Number()}
		}
	}
	return nil
}

// afterAnswers says what to type after a prediction: the next one, or what shows the text that was hidden before.
func (a *app) afterAnswers(e exercise.Exercise, entry *exercise.Entry, before string) error {
	next := ""
	if now, _ := e.Shown(entry); now != before {
		next = "labctl exercise show " + e.Number()
	} else if missing := e.Unpredicted(entry); len(missing) > 0 {
		next = missing[0].Typed()
	}
	if next == "" {
		return nil
	}
	_, err := fmt.Fprintf(a.streams.Out, "next: %s\n", a.typed(next))
	return err
}

func notAnswer(c *cobra.Command, word string) error {
	return usageError{command: c.CommandPath(), err: fmt.Errorf("%q is not of the form ID=VALUE; a value with spaces needs quotes", word)}
}

// ids are the questions that can be answered in words.
func ids(e exercise.Exercise) []string {
	var all []string
	for _, q := range e.Questions {
		if q.Answered() {
			all = append(all, q.ID)
		}
	}
	return all
}

func (a *app) exerciseHint(k *course, args []string) error {
	e, err := k.pick(args)
	if err != nil {
		return err
	}
	if missing := e.Unpredicted(k.progress.Open(e, time.Now())); len(missing) > 0 {
		_, err := fmt.Fprintf(a.streams.Out, "a hint would give the prediction away: write it down first; a wrong one is no mistake, it is compared\nnext: %s\n", a.typed(missing[0].Typed()))
		return err
	}
	n := 0
	err = k.change(func() error {
		entry := k.progress.Open(e, time.Now())
		n = min(entry.Hints, len(e.Hints)-1)
		entry.Hints = n + 1
		return nil
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(a.streams.Out, "hint %d of %d for exercise %s\n\n%s\n", n+1, len(e.Hints), e.Number(), e.Hints[n])
	if n == len(e.Hints)-1 {
		fmt.Fprintf(a.streams.Out, "\nthat is the last one; %s shows the solution\n", a.typed("labctl exercise solution --spoil"))
	}
	return nil
}

func (a *app) exerciseSolutionCommand(k *course) *cobra.Command {
	var spoil bool
	c := &cobra.Command{Use: "solution [NN]", Short: "Show one possible solution, after passing", Args: oneExercise, RunE: func(_ *cobra.Command, args []string) error {
		if err := a.openCourse(k); err != nil {
			return err
		}
		e, err := k.pick(args)
		if err != nil {
			return err
		}
		if entry := k.progress.Exercises[e.Name]; !spoil && (entry == nil || entry.Passed == nil) {
			return &provider.Problem{Err: fmt.Errorf("exercise %s is not passed yet", e.Number()), Hint: "labctl exercise hint " + e.Number()}
		}
		_, err = fmt.Fprintf(a.streams.Out, "one possibility:\n\n%s", a.spelled(e.Solution))
		return err
	}}
	c.Flags().BoolVar(&spoil, "spoil", false, "show it before passing")
	return c
}
