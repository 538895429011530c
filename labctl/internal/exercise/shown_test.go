package exercise_test

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"academy.example/lab/labctl/internal/check"
	"academy.example/lab/labctl/internal/exercise"
)

// headings are the sections of a text that is shown.
func headings(text string) (all []string) {
	for line := range strings.Lines(text) {
		if h, ok := strings.CutPrefix(line, "## "); ok {
			all = append(all, strings.TrimSpace(h))
		}
	}
	return all
}

// Whatever an exercise says beyond its section Predict may give a prediction away, so nothing of it is shown before all are made.
func TestShown_givesNoPredictionAway(t *testing.T) {
	for _, e := range load(t, os.DirFS(folder)) {
		entry := &exercise.Entry{Answers: map[string]string{}}
		readme, questions := e.Shown(entry)
		for missing := e.Unpredicted(entry); len(missing) > 0; missing = e.Unpredicted(entry) {
			if strings.Contains(readme, "**Goal.**") || slices.Contains(headings(readme), "Explain") || !strings.Contains(readme, missing[0].ID+"=") {
				t.Errorf("%s, before %s, shows\n%s", e.Name, missing[0].ID, readme)
			}
			if first := len(entry.Answers) == 0; first && (!slices.Equal(headings(readme), []string{"Predict"}) || len(questions) != len(missing)) {
				t.Errorf("%s, before anything is predicted, shows %v and %d questions", e.Name, headings(readme), len(questions))
			}
			entry.Answers[missing[0].ID] = "a"
			readme, questions = e.Shown(entry)
		}
		if readme != e.Readme || len(questions) != len(e.Questions) {
			t.Errorf("%s: something is hidden although all is predicted", e.Name)
		}
	}
}

func TestJudge_whatIsNotDoneYetIsOpen(t *testing.T) {
	e, p := find(t, "11"), proofOf(t, "11-ignore-the-context")
	now := time.Now()
	entry := exercise.Entry{Started: p.Entry.Started}
	if r := exercise.Judge(e, &entry, exercise.Evidence{Now: now}); r.Verdict != check.Fail || !r.Open || r.Done() != 0 {
		t.Errorf("nothing done: got %s, open %t, %d done", r.Verdict, r.Open, r.Done())
	}
	entry = p.Entry
	entry.Seen, entry.Answers, entry.Passed = nil, map[string]string{"predict-two": p.Entry.Answers["predict-two"]}, nil
	r := exercise.Judge(e, &entry, exercise.Evidence{Runs: p.Runs[:1], Now: now}) // the run with the lab's own operator
	if id, _ := r.Next(); !r.Open || id != "ignores" {
		t.Errorf("in the middle: got open %t, next %q, %+v", r.Open, id, r.Items)
	}
	entry.Answers["ended"] = "a"
	if r := exercise.Judge(e, &entry, exercise.Evidence{Runs: p.Runs[:1], Now: now}); r.Open {
		t.Error("a wrong answer is called open")
	}
}

func TestCopied(t *testing.T) {
	e := find(t, "04")
	for value, want := range map[string]bool{"...": true, " ... ": true, "a second": false, "": false} {
		if got := e.Copied("compare", value); got != want {
			t.Errorf("%q: got %t", value, got)
		}
	}
	if !find(t, "02").Copied("in-words", "a candidate checks ...") {
		t.Error("a text with spaces is not known again")
	}
}

func TestLint_whatCountsIfItIsCopied(t *testing.T) {
	e := find(t, "03")
	e.Readme = strings.ReplaceAll(e.Readme, "predict-gap=SECONDS", "predict-gap=15")
	e.Questions = append(e.Questions[1:], e.Questions[0])
	problems := strings.Join(exercise.Lint(os.DirFS(folder), e, nil).Problems, "\n")
	for _, want := range []string{"shows predict-gap=15, which counts as an answer if it is copied; write SECONDS", "question run stands before the first prediction"} {
		if !strings.Contains(problems, want) {
			t.Errorf("got %q, want %q", problems, want)
		}
	}
}

func TestInWords(t *testing.T) {
	for _, c := range []struct{ number, id, answer, want string }{
		{"03", "predict-gap", "15", "15 s"}, {"03", "predict-gap", "15 s", "15 s"}, {"03", "rise", "1", "1"},
		{"05", "predict-typed", "A)", "exercise 03, about LeaseDuration"}, {"05", "predict-typed", "", ""}, {"04", "compare", "longer", "longer"},
	} {
		q, _ := find(t, c.number).Question(c.id)
		if got := q.InWords(c.answer); got != c.want {
			t.Errorf("%s of %s: got %q, want %q", c.id, c.number, got, c.want)
		}
	}
}
