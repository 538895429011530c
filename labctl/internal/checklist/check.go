package checklist

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"academy.example/lab/labctl/internal/check"
	"academy.example/lab/labctl/internal/checklist/plain"
	"academy.example/lab/labctl/internal/checklist/source"
	"academy.example/lab/labctl/internal/exercise/recorded"
)

// Evidence is what a checklist is held against.
type Evidence struct {
	// Run reads a recorded run by its name. found is false if it is not here; an error says that it can't be read.
	Run func(name string) (run recorded.Run, found bool, err error)
	// ClientGo is the version that the operator was built with.
	ClientGo string
}

// Item is the verdict on one field.
type Item struct {
	ID       string        `json:"id"`
	Name     string        `json:"name"`
	Line     int           `json:"line"` // in the file, from 1; 0 if the field is not there
	Value    string        `json:"value"`
	Verdict  check.Verdict `json:"verdict"`
	Open     bool          `json:"open"`     // it fails only because it is not filled in yet
	Recorded bool          `json:"recorded"` // no machine says whether it is right
	Reason   string        `json:"reason"`
}

// Result is the verdict on a checklist.
type Result struct {
	List    string        `json:"list"`
	Verdict check.Verdict `json:"verdict"`
	// Open is whether nothing is wrong: whatever fails is open.
	Open  bool   `json:"open"`
	Items []Item `json:"items"`
}

// Done is how many of the fields pass.
func (r Result) Done() (n int) {
	for _, i := range r.Items {
		if i.Verdict == check.Pass {
			n++
		}
	}
	return n
}

// Check holds every field of a filled checklist against the runs that it cites.
func (l List) Check(text plain.Text, evidence Evidence) Result {
	j := &judge{list: l, entries: read(text.Lines), evidence: evidence, trials: map[string]cited{}}
	r := Result{List: l.Name, Verdict: check.Pass, Items: []Item{}}
	for _, f := range l.Fields {
		item := j.item(f)
		r.Items = append(r.Items, item)
		r.Verdict = r.Verdict.And(item.Verdict)
	}
	r.Open = r.Verdict == check.Fail && !slices.ContainsFunc(r.Items, func(i Item) bool { return i.Verdict == check.Fail && !i.Open })
	return r
}

type judge struct {
	list     List
	entries  map[string][]entry
	evidence Evidence
	trials   map[string]cited // by the id of the run's field
}

// cited is the trial that a run's field names, or why there is none.
type cited struct {
	trial   *recorded.Trial
	verdict check.Verdict
	reason  string
}

func (j *judge) item(f Field) Item {
	item := Item{ID: f.ID, Name: f.Name, Recorded: f.Kind == Text || f.Kind == Guess, Verdict: check.Fail}
	found := j.entries[f.ID]
	switch len(found) {
	case 0:
		item.Reason = "the field is not in the file"
		return item
	case 1:
	default:
		item.Line = found[1].line + 1
		item.Reason = fmt.Sprintf("the field stands twice, in lines %d and %d", found[0].line+1, found[1].line+1)
		return item
	}
	item.Line, item.Value = found[0].line+1, found[0].value
	if item.Value == "" {
		item.Open, item.Reason = true, "not filled in"
		return item
	}
	item.Verdict, item.Reason = j.judge(f, item.Value)
	return item
}

func (j *judge) judge(f Field, value string) (check.Verdict, string) {
	switch f.Kind {
	case Text:
		return check.Pass, "recorded, for the instructor"
	case Guess:
		if _, err := plain.ParseNumber(value); err != nil {
			return check.Fail, err.Error()
		}
		return check.Pass, "recorded"
	case Setting:
		return j.setting(f, value)
	case Version:
		return j.version(value)
	case Citation:
		return j.citation(f, value)
	case Run:
		c := j.cited(f.ID)
		return c.verdict, c.reason
	default:
		return j.measured(f, value)
	}
}

func (j *judge) version(value string) (check.Verdict, string) {
	c, _ := source.Parse("leaderelection.go:1 " + value)
	switch built := j.evidence.ClientGo; {
	case built == "":
		return check.Unknown, "the version that the operator was built with is not known"
	case c.Version != built:
		return check.Fail, fmt.Sprintf("the operator was built with client-go %s", built)
	default:
		return check.Pass, "as the operator was built"
	}
}

func (j *judge) citation(f Field, value string) (check.Verdict, string) {
	c, err := source.Parse(value)
	if err != nil {
		return check.Fail, err.Error()
	}
	ok, known, reason := c.Verify(j.evidence.ClientGo, f.Functions...)
	switch {
	case ok:
		return check.Pass, reason
	case known:
		return check.Fail, reason
	default:
		return check.Unknown, reason
	}
}

// setting compares a configured duration with that of each cited run.
func (j *judge) setting(f Field, value string) (check.Verdict, string) {
	said, err := plain.ParseNumber(value)
	if err != nil {
		return check.Fail, err.Error()
	}
	seen := 0
	for _, r := range j.list.Fields {
		if r.Kind != Run {
			continue
		}
		c := j.cited(r.ID)
		if c.trial == nil {
			continue
		}
		seen++
		if is := configured(f.What, c.trial.Run); said.Value != is {
			return check.Fail, fmt.Sprintf("%s s; run %s was made with %g s", said, c.trial.Run.Name, is)
		}
	}
	if seen == 0 {
		return check.Unknown, "no cited run can be read, so nothing says how the operator was configured"
	}
	return check.Pass, "as the cited runs were made"
}

func configured(what string, r *recorded.Run) float64 {
	switch what {
	case "renewDeadline":
		return r.Timing.RenewDeadline.Seconds()
	case "retryPeriod":
		return r.Timing.RetryPeriod.Seconds()
	default:
		return r.Timing.LeaseDuration.Seconds()
	}
}

var (
	runName  = regexp.MustCompile(`\d{8}-\d{6}-[a-z]+(?:-\d+)?`)
	trialNum = regexp.MustCompile(`(?i)trial\s*(\d{1,4})`)
	number   = regexp.MustCompile(`\d{1,6}`)
)

// cited finds the trial that a run's field names.
func (j *judge) cited(id string) cited {
	if c, known := j.trials[id]; known {
		return c
	}
	c := j.find(id)
	j.trials[id] = c
	return c
}

func (j *judge) find(id string) cited {
	f, _ := j.list.field(id)
	if len(j.entries[id]) != 1 || j.entries[id][0].value == "" {
		return cited{verdict: check.Unknown, reason: "no run is named in " + id}
	}
	value := j.entries[id][0].value
	name := runName.FindString(value)
	if name == "" {
		return cited{verdict: check.Fail, reason: fmt.Sprintf("%q is not the name of a run", value)}
	}
	run, found, err := j.evidence.Run(name)
	switch {
	case err != nil:
		return cited{verdict: check.Fail, reason: fmt.Sprintf("the record of run %s can't be read: %v", name, err)}
	case !found:
		return cited{verdict: check.Unknown, reason: fmt.Sprintf("run %s is not on this machine", name)}
	case len(run.Edited) > 0:
		return cited{verdict: check.Fail, reason: fmt.Sprintf("the record of run %s was changed after it was made: %s", name, run.Edited[0])}
	}
	return j.trialOf(f, value, run)
}

func (j *judge) trialOf(f Field, value string, run recorded.Run) cited {
	n := 1
	if found := trialNum.FindStringSubmatch(value); found != nil {
		n, _ = strconv.Atoi(found[1])
	}
	all := recorded.All([]recorded.Run{run})
	if n < 1 || n > len(all) {
		return cited{verdict: check.Fail, reason: fmt.Sprintf("run %s has no trial %d; it has %d", run.Name, n, len(all))}
	}
	t := all[n-1]
	switch {
	case t.Mode != f.Mode:
		return cited{verdict: check.Fail, reason: fmt.Sprintf("%s is of mode %s; asked for is %s", t.Cite(), t.Mode, f.Mode)}
	case t.Void != "":
		return cited{verdict: check.Unknown, reason: fmt.Sprintf("%s does not count: %s", t.Cite(), t.Void)}
	default:
		return cited{trial: &t, verdict: check.Pass, reason: t.Event()}
	}
}

// measured compares a class, a figure or the transitions with the trial's.
func (j *judge) measured(f Field, value string) (check.Verdict, string) {
	c := j.cited(f.Of)
	if c.trial == nil {
		return check.Unknown, fmt.Sprintf("nothing to compare with: %s: %s", f.Of, c.reason)
	}
	switch f.Kind {
	case Class:
		if !strings.EqualFold(value, string(c.trial.Class)) {
			return check.Fail, fmt.Sprintf("%s was %s", c.trial.Cite(), c.trial.Class)
		}
		return check.Pass, c.trial.Cite()
	case Transitions:
		return transitions(value, *c.trial)
	default:
		return j.figure(f, value, *c.trial)
	}
}

func transitions(value string, t recorded.Trial) (check.Verdict, string) {
	said := number.FindAllString(value, 3)
	switch {
	case len(said) != 2:
		return check.Fail, fmt.Sprintf("%q is not a number before and one after", value)
	case t.TransitionsAfter == nil:
		return check.Unknown, t.Cite() + " did not see it"
	case said[0] != strconv.Itoa(t.TransitionsBefore) || said[1] != strconv.Itoa(*t.TransitionsAfter):
		return check.Fail, fmt.Sprintf("%s went from %d to %d", t.Cite(), t.TransitionsBefore, *t.TransitionsAfter)
	default:
		return check.Pass, t.Cite()
	}
}

func (j *judge) figure(f Field, value string, t recorded.Trial) (check.Verdict, string) {
	said, err := plain.ParseNumber(value)
	if err != nil {
		return check.Fail, err.Error()
	}
	is := figure(f.What, t)
	switch {
	case is == nil:
		return check.Unknown, t.Cite() + " did not see it"
	case said.Decimals == 0:
		return check.Fail, fmt.Sprintf("%s s has no decimals; %s measured %.2f s", said, t.Cite(), *is)
	case said.Is(*is):
		return check.Pass, t.Cite()
	}
	return check.Fail, fmt.Sprintf("%s s; %s measured %.2f s%s", said, t.Cite(), *is, j.origin(f, said, t))
}

// origin says where a wrong figure may have come from: another field, or the model.
func (j *judge) origin(f Field, said plain.Number, t recorded.Trial) string {
	for _, other := range j.list.Fields {
		if other.Kind != Figure || other.ID == f.ID {
			continue
		}
		if c := j.cited(other.Of); c.trial != nil {
			if v := figure(other.What, *c.trial); v != nil && said.Is(*v) {
				return fmt.Sprintf("; it is the value of %s (%s)", other.ID, other.Name)
			}
		}
	}
	if p, ok := t.Run.Predicted[t.Mode]; ok && slices.ContainsFunc([]float64{p.MinSeconds, p.MaxSeconds, p.MeanSeconds, p.P95Seconds}, said.Is) {
		return "; it is a figure of the model, not of the measurement"
	}
	return ""
}

func figure(what string, t recorded.Trial) *float64 {
	if what == "gap" {
		return t.GapSeconds
	}
	return t.LockGapSeconds
}
