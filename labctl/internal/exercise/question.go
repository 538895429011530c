package exercise

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"academy.example/lab/labctl/internal/checklist/plain"
	"academy.example/lab/labctl/internal/checklist/source"
	"academy.example/lab/labctl/internal/fault"
	"academy.example/lab/labctl/internal/timeline"
)

// Kind says how a question is answered and judged.
type Kind string

// The kinds of questions.
const (
	Prediction  Kind = "prediction"  // written down before the run; compared, and right or wrong it counts
	Measured    Kind = "measured"    // from the events of runs made since the exercise was begun
	Reading     Kind = "reading"     // a figure that the student writes down, compared with the trials of a measured question
	Observation Kind = "observation" // a state of the running lab, which a check must have seen once
	Choice      Kind = "choice"      // one of the options
	Count       Kind = "count"       // a number that a command prints to everybody, and no text tells
	Citation    Kind = "citation"    // file:line in client-go
	Text        Kind = "text"        // free words: recorded, for the instructor
)

// Question is one thing that is asked, or to be done.
type Question struct {
	ID   string `json:"id"`
	Kind Kind   `json:"kind"`
	Ask  string `json:"ask"`
	// Options are the letters of a choice, or of a prediction that is one, and what they stand for.
	Options map[string]string `json:"options,omitempty"`
	Correct string            `json:"correct,omitempty"`
	// Wrong says what to look at again after a wrong choice or count.
	Wrong string `json:"wrong,omitempty"`
	// Of names the measured question whose trials a prediction or a reading is about, and Figure what of them.
	Of     string `json:"of,omitempty"`
	Figure string `json:"figure,omitempty"`
	// Within is the margin of the figure "needed", in seconds.
	Within float64 `json:"within,omitempty"`
	Run    *Want   `json:"run,omitempty"`
	Live   *State  `json:"live,omitempty"`
	// After names questions that must have passed before an observation counts.
	After []string `json:"after,omitempty"`
	// Functions are where a citation may point to: names as in client-go, LeaderElector.renew.
	Functions []string `json:"functions,omitempty"`
}

// Want is what a measured question asks of trials. What is not given is not asked.
type Want struct {
	Mode   string `json:"mode"`
	Trials int    `json:"trials"` // that many which count
	Timing string `json:"timing,omitempty"`
	// Election, Identity and ReleaseOnCancel are settings of the operator that the run was made with.
	Election        string         `json:"election,omitempty"`
	Identity        string         `json:"identity,omitempty"`
	ReleaseOnCancel *bool          `json:"releaseOnCancel,omitempty"`
	Class           timeline.Class `json:"class,omitempty"`
	Transitions     *int           `json:"transitions,omitempty"` // by how much leaseTransitions rises
	// Older is whether no newer version held the Lease while an older one was there.
	Older   bool    `json:"older,omitempty"`
	InBand  bool    `json:"inBand,omitempty"`  // the lock gap lies in the predicted range of its class
	Overlap Overlap `json:"overlap,omitempty"` // whether two leaders worked at a time
	// LongerThan names another measured question: each trial's lock gap is longer than each of that one's.
	LongerThan string `json:"longerThan,omitempty"`
}

// Figures of a trial that can be written down or predicted.
const (
	FigureLockGap     = "lockGap"
	FigureGap         = "gap"
	FigureTransitions = "transitions" // the rise
	FigureReplacement = "replacement" // how many of the trials the replacement won
	FigureOverlap     = "overlap"     // how long two leaders worked at a time
	FigureNoHeartbeat = "noHeartbeat" // for how long a reader of the Lease's heartbeat would have been told no
)

var figures = []string{FigureLockGap, FigureGap, FigureTransitions, FigureReplacement, FigureOverlap, FigureNoHeartbeat, FigureMean, FigureMargin, FigureNeeded}

// Unit is what a figure is counted in.
func Unit(figure string) string {
	switch figure {
	case FigureTransitions, FigureReplacement, FigureNeeded:
		return ""
	default:
		return " s"
	}
}

// Answered reports whether the student types an answer.
func (q Question) Answered() bool {
	return q.Kind != Measured && (q.Kind != Observation || q.Live.Answer != "")
}

// Checked reports whether a machine can tell a right answer from a wrong one.
func (q Question) Checked() bool { return q.Kind != Prediction && q.Kind != Text }

// valid reports every problem of an exercise's data.
func (e Exercise) valid() error {
	var problems []error
	wrong := func(format string, args ...any) {
		problems = append(problems, fmt.Errorf("exercise %s: "+format, append([]any{e.Name}, args...)...))
	}
	for name, value := range map[string]string{"title": e.Title, "seed": e.Seed, "misconception": e.Misconception, "a source": strings.Join(e.Source, "")} {
		if value == "" {
			wrong("%s has no %s", dataFile, name)
		}
	}
	if e.Minutes < 1 || e.Minutes > 15 {
		wrong("minutes %d is not between 1 and 15", e.Minutes)
	}
	if !slices.ContainsFunc(e.Questions, Question.Checked) {
		wrong("no question can be checked")
	}
	seen := map[string]bool{}
	for _, q := range e.Questions {
		if seen[q.ID] {
			wrong("two questions have the id %q", q.ID)
		}
		seen[q.ID] = true
		if err := e.check(q); err != nil {
			wrong("question %q: %w", q.ID, err)
		}
	}
	return errors.Join(problems...)
}

// check reports what a question of its kind must have and has not.
func (e Exercise) check(q Question) error {
	if q.ID == "" || strings.ContainsAny(q.ID, " =:") || q.Ask == "" {
		return errors.New("it needs an id of one word, and a sentence that asks")
	}
	switch q.Kind {
	case Measured:
		return e.checkRun(q.Run)
	case Reading:
		return e.checkFigure(q)
	case Prediction:
		return e.checkPrediction(q)
	case Observation:
		if q.Live == nil {
			return errors.New("an observation says what of the lab must be seen: live")
		}
		for _, id := range q.After {
			if other, ok := e.Question(id); !ok || slices.Contains(other.After, q.ID) {
				return fmt.Errorf("after %q is no question before it", id)
			}
		}
		return q.Live.valid()
	case Choice:
		return checkOptions(q)
	case Count:
		if n, err := plain.ParseNumber(q.Correct); err != nil || n.String() != q.Correct || q.Wrong == "" {
			return fmt.Errorf("correct %q is no number, or nothing says what to look at after a wrong one: wrong", q.Correct)
		}
		return nil
	case Citation:
		return checkFunctions(q.Functions)
	case Text:
		return nil
	default:
		return fmt.Errorf("there is no kind %q", q.Kind)
	}
}

func (e Exercise) checkPrediction(q Question) error {
	if len(q.Options) == 0 {
		return e.checkFigure(q)
	}
	if of, ok := e.Question(q.Of); q.Of != "" && (!ok || of.Kind != Measured) {
		return fmt.Errorf("of %q is no measured question", q.Of)
	}
	return checkOptions(q)
}

func checkOptions(q Question) error {
	if _, ok := q.Options[q.Correct]; !ok || len(q.Options) < 2 {
		return fmt.Errorf("correct %q is none of its options", q.Correct)
	}
	if q.Kind == Choice && q.Wrong == "" {
		return errors.New("a choice says what to look at after a wrong answer: wrong")
	}
	return nil
}

func checkFunctions(names []string) error {
	for _, name := range names {
		if _, _, ok := source.Find(name); !ok {
			return fmt.Errorf("client-go %s has no function %s", source.Version, name)
		}
	}
	if len(names) == 0 {
		return errors.New("a citation needs the functions that it may point to")
	}
	return nil
}

func (e Exercise) checkFigure(q Question) error {
	of, ok := e.Question(q.Of)
	if !ok || of.Kind != Measured {
		return fmt.Errorf("of %q is no measured question", q.Of)
	}
	if !slices.Contains(figures, q.Figure) {
		return fmt.Errorf("figure %q is none of %s", q.Figure, strings.Join(figures, ", "))
	}
	if (q.Figure == FigureNeeded) != (q.Within > 0) {
		return fmt.Errorf("figure %s needs a margin, and no other has one: within", FigureNeeded)
	}
	return nil
}

func (e Exercise) checkRun(w *Want) error {
	if w == nil {
		return errors.New("a measured question says what is to be run: run")
	}
	if _, ok := fault.Describe(fault.Mode(w.Mode)); !ok {
		return fmt.Errorf("there is no mode %q", w.Mode)
	}
	if w.Trials < 1 {
		return errors.New("it asks for no trial")
	}
	if w.Overlap != "" && w.Overlap != OverlapNone && w.Overlap != OverlapSome {
		return fmt.Errorf("overlap %q is neither %s nor %s", w.Overlap, OverlapNone, OverlapSome)
	}
	if other, ok := e.Question(w.LongerThan); w.LongerThan != "" && (!ok || other.Kind != Measured) {
		return fmt.Errorf("longerThan %q is no measured question", w.LongerThan)
	}
	return nil
}

// Letters are the options of a question in order.
func Letters(q Question) []string { return letters(q.Options) }

// Looks reports whether a check of the entry has to look at the lab.
func (e Exercise) Looks(entry *Entry) bool {
	return slices.ContainsFunc(e.Questions, func(q Question) bool {
		_, seen := entry.Seen[q.ID]
		return q.Kind == Observation && !seen
	})
}
