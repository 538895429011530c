package exercise

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"academy.example/lab/labctl/internal/check"
	"academy.example/lab/labctl/internal/checklist/plain"
	"academy.example/lab/labctl/internal/checklist/source"
	"academy.example/lab/labctl/internal/exercise/recorded"
)

// Evidence is what answers are held against.
type Evidence struct {
	Runs []recorded.Run
	// Lab is nil if none could be looked at, and NoLab says why.
	Lab   *Snapshot
	NoLab string
	// ClientGo is the version that the operator was built with.
	ClientGo string
	Now      time.Time
}

// Item is the verdict on one question.
type Item struct {
	ID      string        `json:"id"`
	Kind    Kind          `json:"kind"`
	Verdict check.Verdict `json:"verdict"`
	// Open is whether it fails only because it is not done yet: nothing was answered or run, or its time has not come.
	Open bool `json:"open"`
	// Recorded is whether it was only written down: no machine says whether it is right.
	Recorded bool   `json:"recorded"`
	Reason   string `json:"reason"`
	// Evidence is the run, trial and event that decide, or the lab as it was seen.
	Evidence string `json:"evidence,omitempty"`
}

// open is the verdict on what is not done yet, until it is told as a failure that is open.
const open check.Verdict = "open"

// Result is the verdict on an exercise.
type Result struct {
	Exercise string        `json:"exercise"`
	Verdict  check.Verdict `json:"verdict"`
	// Open is whether nothing is wrong: whatever fails is open.
	Open  bool   `json:"open"`
	Items []Item `json:"items"`
}

// Done is how many of the questions pass.
func (r Result) Done() (n int) {
	for _, i := range r.Items {
		if i.Verdict == check.Pass {
			n++
		}
	}
	return n
}

// Next is the first question that is open.
func (r Result) Next() (id string, found bool) {
	for _, i := range r.Items {
		if i.Open {
			return i.ID, true
		}
	}
	return "", false
}

// Judge holds an entry against the evidence. It notes in the entry what it saw for the first time.
func Judge(e Exercise, entry *Entry, evidence Evidence) Result {
	r := Result{Exercise: e.Name, Verdict: check.Pass}
	for _, q := range e.Questions {
		entry.note(q, evidence.Now)
	}
	j := judge{exercise: e, entry: entry, evidence: evidence}
	items := map[string]Item{}
	for _, compared := range []bool{false, true} { // a prediction is compared with what the others have seen by then
		for _, q := range e.Questions {
			if (q.Kind == Prediction) == compared {
				items[q.ID] = told(j.item(q))
			}
		}
	}
	for _, q := range e.Questions {
		item := items[q.ID]
		r.Items = append(r.Items, item)
		r.Verdict = r.Verdict.And(item.Verdict)
	}
	r.Open = r.Verdict == check.Fail && !slices.ContainsFunc(r.Items, func(i Item) bool { return i.Verdict == check.Fail && !i.Open })
	if r.Verdict == check.Pass && entry.Passed == nil {
		now := evidence.Now.UTC().Truncate(time.Second)
		entry.Passed = &now
	}
	return r
}

// told is an item as it is printed: what is open fails.
func told(item Item) Item {
	if item.Verdict == open {
		item.Verdict, item.Open = check.Fail, true
	}
	return item
}

type judge struct {
	exercise Exercise
	entry    *Entry
	evidence Evidence
}

func (j judge) item(q Question) Item {
	item := Item{ID: q.ID, Kind: q.Kind, Recorded: !q.Checked()}
	answer := plain.Typed(j.entry.Answers[q.ID])
	if q.Answered() && answer == "" {
		if sight, seen := j.entry.Seen[q.ID]; !seen || q.Kind != Observation {
			item.Verdict, item.Reason, item.Evidence = open, "not answered yet", sight.Lab
			return item
		}
	}
	if err := q.readable(answer); q.Answered() && err != nil && q.Kind != Observation {
		item.Verdict, item.Reason = check.Fail, err.Error()
		return item
	}
	switch q.Kind {
	case Text:
		item.Verdict, item.Reason = check.Pass, "recorded, for the instructor"
	case Choice:
		item.Verdict, item.Reason = chosen(q, letter(answer))
	case Count:
		item.Verdict, item.Reason = counts(q, answer)
	case Citation:
		item.Verdict, item.Reason = cited(q, answer, j.evidence.ClientGo)
	case Observation:
		item.Verdict, item.Reason, item.Evidence = j.observed(q, answer)
	case Prediction:
		item.Verdict, item.Reason, item.Evidence = j.predicted(q, answer)
	case Reading:
		item.Verdict, item.Reason, item.Evidence = j.read(q, answer)
	case Measured:
		item.Verdict, item.Reason, item.Evidence = j.measured(q)
	}
	return item
}

func chosen(q Question, answer string) (check.Verdict, string) {
	if answer != q.Correct {
		return check.Fail, fmt.Sprintf("%s is not it: %s", answer, q.Wrong)
	}
	return check.Pass, q.Options[answer]
}

// counts holds a number against the right one; one with a comma in its thousands is read as it was meant.
func counts(q Question, answer string) (check.Verdict, string) {
	if strings.ReplaceAll(answer, ",", "") == q.Correct {
		return check.Pass, "so it is"
	}
	return check.Fail, fmt.Sprintf("%s is not it: %s", answer, q.Wrong)
}

func cited(q Question, answer, built string) (check.Verdict, string) {
	c, err := source.Parse(answer)
	if err != nil {
		return check.Fail, err.Error()
	}
	ok, known, reason := c.Verify(built, q.Functions...)
	switch {
	case ok:
		return check.Pass, reason
	case known:
		return check.Fail, reason
	default:
		return check.Unknown, reason
	}
}

// observed looks at the lab, or at what an earlier check has seen of it.
func (j judge) observed(q Question, answer string) (check.Verdict, string, string) {
	if sight, ok := j.entry.Seen[q.ID]; ok {
		return check.Pass, "seen at " + sight.At.Format(time.TimeOnly), sight.Lab
	}
	for _, p := range j.exercise.Questions {
		if p.Kind == Prediction && p.Of == "" && j.entry.Answers[p.ID] == "" {
			return open, "predict first: " + p.ID, ""
		}
	}
	for _, id := range q.After {
		if before, _ := j.exercise.Question(id); j.item(before).Verdict != check.Pass {
			return open, "its time comes after " + id, ""
		}
	}
	now := j.evidence.Lab
	if now == nil {
		return check.Unknown, "unknown (environment): " + j.evidence.NoLab, ""
	}
	if why := q.Live.unseen(*now); why != "" {
		return check.Unknown, "unknown (environment): " + why, now.String()
	}
	if d := q.Live.differs(*now, answer); d != "" {
		verdict := open
		if now.Lease != nil && d == q.Live.field(*now, answer) { // all is so, but for what was written down
			verdict = check.Fail
		}
		return verdict, "not so now: " + d, now.String()
	}
	if j.entry.Seen == nil {
		j.entry.Seen = map[string]Sight{}
	}
	j.entry.Seen[q.ID] = Sight{At: now.At.UTC().Truncate(time.Second), Lab: now.String()}
	return check.Pass, "seen now", now.String()
}

// predicted compares a prediction with what was measured. It was made, which is all that is asked of it.
func (j judge) predicted(q Question, answer string) (check.Verdict, string, string) {
	if len(q.Options) > 0 {
		said := fmt.Sprintf("you said %s, %s", letter(answer), q.Options[letter(answer)])
		if !j.settled(q) {
			return check.Pass, said + "; compared when the rest is seen", ""
		}
		if letter(answer) == q.Correct {
			return check.Pass, said + ": so it is", ""
		}
		return check.Pass, fmt.Sprintf("%s; it is %s, %s", said, q.Correct, q.Options[q.Correct]), ""
	}
	said, _ := plain.ParseNumber(answer)
	of, _ := j.exercise.Question(q.Of)
	good, _ := j.counted(of)
	measured, cite := figure(q, good)
	if measured == nil {
		return check.Pass, fmt.Sprintf("you said %s%s; not measured yet", said, Unit(q.Figure)), ""
	}
	return check.Pass, fmt.Sprintf("you said %s%s; measured: %s", said, Unit(q.Figure), list(measured, q.Figure)), cite
}

// settled reports whether the truth of a prediction with options may be shown: what it is about was measured, or all that is
// to be seen was seen.
func (j judge) settled(q Question) bool {
	if of, ok := j.exercise.Question(q.Of); ok {
		good, _ := j.counted(of)
		return len(good) >= of.Run.Trials
	}
	return !slices.ContainsFunc(j.exercise.Questions, func(o Question) bool {
		_, seen := j.entry.Seen[o.ID]
		return o.Kind == Observation && !seen
	})
}

// read compares a figure that was written down with the trials.
func (j judge) read(q Question, answer string) (check.Verdict, string, string) {
	said, _ := plain.ParseNumber(answer)
	of, _ := j.exercise.Question(q.Of)
	good, _ := j.counted(of)
	measured, cite := figure(q, good)
	if measured == nil {
		verdict, reason, evidence := j.measured(of)
		return verdict, "nothing to compare with: " + reason, evidence
	}
	rounded := Unit(q.Figure) != "" && said.Decimals == 0
	if rounded && slices.ContainsFunc(measured, said.Is) {
		return check.Fail, "write it with the decimals that were shown", cite
	}
	for i, v := range measured {
		if said.Is(v) || q.Figure == FigureNeeded && near(said.Value, v) {
			if !ofAll(q.Figure) {
				cite = good[i].Event()
			}
			return check.Pass, fmt.Sprintf("%s%s, as the events give it", said, Unit(q.Figure)), cite
		}
	}
	also := ""
	if rounded {
		also = "; write the one that was shown, with the decimals"
	}
	return check.Fail, fmt.Sprintf("%s%s is not what the events give%s%s", said, Unit(q.Figure), j.elsewhere(q, said), also), cite
}

// elsewhere says that a wrong figure is that of another mode, or the model's.
func (j judge) elsewhere(q Question, said plain.Number) string {
	for _, other := range j.exercise.Questions {
		if other.Kind != Measured || other.ID == q.Of {
			continue
		}
		good, _ := j.counted(other)
		values, _ := figure(q, good)
		if slices.ContainsFunc(values, said.Is) {
			return fmt.Sprintf("; it is the figure of %s", other.ID)
		}
	}
	of, _ := j.exercise.Question(q.Of)
	good, _ := j.counted(of)
	if q.Figure != FigureLockGap && q.Figure != FigureGap {
		return ""
	}
	for _, t := range good {
		if Modelled(t, said) {
			return "; it is a figure of the model, and measured was something else"
		}
	}
	return ""
}

// Modelled reports whether the number is one of the figures that the model gives for the trial.
func Modelled(t recorded.Trial, said plain.Number) bool {
	p, ok := t.Run.Predicted[t.Mode]
	return ok && slices.ContainsFunc([]float64{p.MinSeconds, p.MaxSeconds, p.MeanSeconds, p.P95Seconds}, said.Is)
}

// figure returns the figure that a question asks for: of each trial, or one of all, and which trials they are. It is nil if
// there is none.
func figure(q Question, trials []recorded.Trial) ([]float64, string) {
	name := q.Figure
	if sampled(name) {
		return sampleFigure(q, trials)
	}
	var values []float64
	var of []recorded.Trial
	sum := 0.0
	for _, t := range trials {
		if v, ok := value(name, t); ok {
			sum += v
			values = append(values, v)
			of = append(of, t)
		}
	}
	if name == FigureReplacement && len(values) > 0 {
		values = []float64{sum}
	}
	return values, recorded.Cite(of)
}

func value(name string, t recorded.Trial) (float64, bool) {
	of := func(p *float64) (float64, bool) {
		if p == nil {
			return 0, false
		}
		return *p, true
	}
	switch name {
	case FigureLockGap:
		return of(t.LockGapSeconds)
	case FigureGap:
		return of(t.GapSeconds)
	case FigureOverlap:
		return of(t.OverlapSeconds)
	case FigureNoHeartbeat:
		seconds, ok := t.Run.NoHeartbeat[t.Number]
		return seconds, ok
	case FigureTransitions:
		rise, ok := t.Rise()
		return float64(rise), ok
	case FigureReplacement:
		if t.Winner == "replacement" {
			return 1, true
		}
		return 0, t.Winner != ""
	}
	return 0, false
}

func list(values []float64, name string) string {
	var parts []string
	for _, v := range values {
		if Unit(name) == "" {
			parts = append(parts, fmt.Sprintf("%g", v))
		} else {
			parts = append(parts, fmt.Sprintf("%.2f%s", v, Unit(name)))
		}
	}
	return strings.Join(parts, ", ")
}

func letters(options map[string]string) []string { return slices.Sorted(maps.Keys(options)) }
