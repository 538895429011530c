package checklist

import (
	"fmt"
	"strings"

	"academy.example/lab/labctl/internal/checklist/plain"
	"academy.example/lab/labctl/internal/exercise/recorded"
)

// Filled is what Fill did with one field.
type Filled struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	Value string `json:"value"`
	// Left says why nothing was written: it holds something already, no run gives it, or it is for the student.
	Left string `json:"left,omitempty"`
}

// Known is what a checklist is filled from.
type Known struct {
	Runs     []recorded.Run // the oldest first
	ClientGo string         // the version that the operator was built with
	// Predicted is what was predicted in an exercise, in words; empty if nothing was. If it is nil, nothing was.
	Predicted func(exercise, question string) string
}

// Fill writes into blank fields what the newest trials give, with the run that they come from, and what was predicted in the
// exercises, and leaves all else.
func (l List) Fill(text *plain.Text, known Known) []Filled {
	byName := func(name string) (recorded.Run, bool, error) {
		for _, r := range known.Runs {
			if r.Name == name {
				return r, true, nil
			}
		}
		return recorded.Run{}, false, nil
	}
	p := &pen{list: l, text: text, known: known, judge: &judge{list: l, evidence: Evidence{Run: byName}, trials: map[string]cited{}}}
	p.judge.entries = read(text.Lines)
	done := map[string]Filled{}
	for _, measured := range []bool{true, false} { // the settings are those of the runs
		for _, f := range l.Fields {
			if (f.Kind != Setting) == measured {
				done[f.ID] = p.fill(f)
			}
		}
	}
	var out []Filled
	for _, f := range l.Fields {
		out = append(out, done[f.ID])
	}
	return out
}

type pen struct {
	list  List
	text  *plain.Text
	known Known
	judge *judge
}

func (p *pen) fill(f Field) Filled {
	out := Filled{ID: f.ID, Name: f.Name}
	found := p.judge.entries[f.ID]
	switch {
	case (f.Kind == Text || f.Kind == Guess || f.Kind == Citation) && f.Exercise == "":
		out.Left = "for you to write"
		if len(found) == 1 {
			out.Value = found[0].value
		}
		return out
	case len(found) != 1:
		out.Left = fmt.Sprintf("it stands in the file %d times", len(found))
		return out
	case found[0].value != "":
		out.Value, out.Left = found[0].value, "it is filled in already"
		return out
	}
	value, why := p.value(f)
	if value == "" {
		out.Left = why
		return out
	}
	out.Value = value
	p.write(found[0].line, value)
	p.judge.entries = read(p.text.Lines)
	delete(p.judge.trials, f.ID)
	return out
}

// value is what belongs into a blank field, or why nothing does.
func (p *pen) value(f Field) (value, why string) {
	switch f.Kind {
	case Text, Guess:
		if p.known.Predicted != nil {
			value = p.known.Predicted(f.Exercise, f.Question)
		}
		return value, "nothing was predicted in exercise " + f.Exercise
	case Version:
		return p.known.ClientGo, "the version is not known"
	case Run:
		return p.newest(f)
	case Setting:
		for _, r := range p.list.Fields {
			if c := p.judge.cited(r.ID); r.Kind == Run && c.trial != nil {
				return fmt.Sprintf("%g s", configured(f.What, c.trial.Run)), ""
			}
		}
		return "", "no run tells it"
	}
	c := p.judge.cited(f.Of)
	if c.trial == nil {
		return "", c.reason
	}
	return measuredText(f, *c.trial)
}

func measuredText(f Field, t recorded.Trial) (value, why string) {
	switch {
	case f.Kind == Class:
		return string(t.Class), ""
	case f.Kind == Transitions && t.TransitionsAfter != nil:
		return fmt.Sprintf("%d → %d", t.TransitionsBefore, *t.TransitionsAfter), ""
	case f.Kind == Figure && figure(f.What, t) != nil:
		return fmt.Sprintf("%.2f s", *figure(f.What, t)), ""
	default:
		return "", t.Cite() + " did not see it"
	}
}

// newest names the newest trial of the mode that counts, at the timing of those that are named already.
func (p *pen) newest(f Field) (value, why string) {
	timing := ""
	for _, r := range p.list.Fields {
		if r.Kind != Run || r.ID == f.ID || len(p.judge.entries[r.ID]) == 0 || p.judge.entries[r.ID][0].value == "" {
			continue
		}
		if c := p.judge.cited(r.ID); c.trial != nil {
			timing = c.trial.Run.Timing.String()
		}
	}
	all := recorded.All(p.known.Runs)
	for i := len(all) - 1; i >= 0; i-- {
		t := all[i]
		if t.Mode == f.Mode && t.Void == "" && t.Complete() && len(t.Run.Edited) == 0 && !t.Run.Foreign && (timing == "" || t.Run.Timing.String() == timing) {
			return fmt.Sprintf("%s, trial %d", t.Run.Name, t.Number), ""
		}
	}
	return "", fmt.Sprintf("no recorded trial of mode %s counts; labctl failover --mode %s", f.Mode, f.Mode)
}

// write puts a value into a line, in place of its blank.
func (p *pen) write(line int, value string) {
	s := p.text.Lines[line]
	from := strings.IndexByte(s, ':') + 1
	for strings.HasPrefix(s[from:], "*") { // the end of the emphasis
		from++
	}
	p.text.Lines[line] = s[:from] + " " + value
}
