package cmd

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"academy.example/lab/labctl/internal/check"
	"academy.example/lab/labctl/internal/fault"
	"academy.example/lab/labctl/internal/lab"
	"academy.example/lab/labctl/internal/report"
	"academy.example/lab/operator/api"
)

// mutantLine is what came of one mutant, or of the reference in one way.
type mutantLine struct {
	Name     string     `json:"name"`
	Report   string     `json:"report"` // empty for the reference and an operator of one's own
	Mode     fault.Mode `json:"mode"`
	Timing   api.Timing `json:"timing"`
	Replicas int        `json:"replicas"`
	Alarm    string     `json:"alarm"` // the check that it is known by; empty for any
	Trials   int        `json:"trials"`
	Void     int        `json:"void"`
	AtMost   int        `json:"atMost"`
	CaughtIn *int       `json:"caughtIn"` // the trial, from 1; null if it was not caught
	Symptom  string     `json:"symptom"`
	Seconds  float64    `json:"symptomSeconds"`
	Alarms   []string   `json:"alarms"` // of all trials
	Took     float64    `json:"seconds"`
	Run      string     `json:"run"`
	NotTried string     `json:"notTried"` // why it was not tried to the end; empty if it was
}

// mutantsResult is what `mutants --json` prints.
type mutantsResult struct {
	Schema     string        `json:"schema"`
	Kind       string        `json:"kind"`
	Provider   string        `json:"provider"`
	Lanes      int           `json:"lanes"`
	Seed       uint64        `json:"seed"`
	Seconds    float64       `json:"seconds"`
	Mutants    []mutantLine  `json:"mutants"`
	References []mutantLine  `json:"references"`
	Checks     []check.Check `json:"checks"`
	Verdict    check.Verdict `json:"verdict"`

	record string // the folder of the first record that there is
}

// take sorts what was tried into lines, and judges.
func (r *mutantsResult) take(tried []lab.Tried) {
	for _, t := range tried {
		r.record = cmp.Or(r.record, t.Run)
		line := mutantLine{Name: t.Subject.Name, Report: t.Subject.Report, Mode: t.Subject.Mode, Timing: t.Subject.Timing, Replicas: t.Subject.Replicas, Alarm: t.Subject.Alarm,
			Trials: t.Trials, Void: t.Void, AtMost: t.Subject.Trials, Alarms: []string{}, Took: t.Seconds, Run: recordName(t.Run)}
		for _, a := range t.Alarms {
			line.Alarms = append(line.Alarms, a.Name+": "+a.Reason)
		}
		if t.Caught != nil {
			line.CaughtIn, line.Symptom, line.Seconds = &t.Trials, t.Caught.Reason, t.Caught.Seconds
		}
		if t.Err != nil {
			line.NotTried = t.Err.Error()
		}
		if t.Subject.Wrong {
			r.Mutants = append(r.Mutants, line)
		} else {
			r.References = append(r.References, line)
		}
	}
	r.Checks = []check.Check{mutantsCaught(r.Mutants), referenceQuiet(r.References)}
	if len(r.Mutants) == 0 {
		r.Checks = r.Checks[1:]
	}
	r.Verdict = check.Overall(r.Checks)
}

// recordName is the last two folders of a record's path: the operator's, and the run's. What is above them names the user.
func recordName(path string) string {
	if path == "" {
		return ""
	}
	return filepath.Join(filepath.Base(filepath.Dir(path)), filepath.Base(path))
}

func mutantsCaught(lines []mutantLine) check.Check {
	c := check.Check{Name: "mutants-caught", Verdict: check.Pass}
	var missed []string
	for _, l := range lines {
		switch {
		case l.CaughtIn != nil:
		case l.NotTried != "" || l.Trials == 0:
			missed = append(missed, l.Name+" was not tried to the end")
			if c.Verdict == check.Pass {
				c.Verdict = check.Unknown
			}
		default:
			missed = append(missed, fmt.Sprintf("%s was not caught in %d trials", l.Name, l.Trials))
			c.Verdict = check.Fail
		}
	}
	c.Reason = fmt.Sprintf("all %d mutants were caught", len(lines))
	if len(missed) > 0 {
		c.Reason = strings.Join(missed, "; ")
	}
	return c
}

func referenceQuiet(lines []mutantLine) check.Check {
	c := check.Check{Name: "no-alarms", Verdict: check.Pass}
	trials := 0
	var loud []string
	for _, l := range lines {
		trials += l.Trials
		if l.NotTried != "" || l.Trials == 0 {
			loud = append(loud, fmt.Sprintf("%s, %s was not tried to the end", l.Name, l.Mode))
			if c.Verdict == check.Pass {
				c.Verdict = check.Unknown
			}
		}
		for _, alarm := range l.Alarms {
			loud = append(loud, fmt.Sprintf("%s, %s: %s", l.Name, l.Mode, alarm))
			c.Verdict = check.Fail
		}
	}
	c.Reason = fmt.Sprintf("0 alarms in %d trials%s", trials, check.RuleOfThree(trials))
	if len(loud) > 0 {
		c.Reason = strings.Join(loud, "; ")
	}
	return c
}

func (a *app) printMutants(r mutantsResult, dir string) error {
	out := a.streams.Out
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	if len(r.Mutants) > 0 {
		fmt.Fprintln(table, "MUTANT\tREPORT\tMODE\tCAUGHT\tSYMPTOM")
	}
	for _, l := range r.Mutants {
		caught := fmt.Sprintf("no, in %d", l.Trials)
		if l.CaughtIn != nil {
			caught = fmt.Sprintf("trial %d", *l.CaughtIn)
		}
		symptom := l.Symptom
		if l.NotTried != "" {
			symptom = "not tried to the end: " + l.NotTried
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", l.Name, l.Report, l.Mode, caught, symptom)
	}
	if len(r.Mutants) > 0 {
		fmt.Fprintln(table)
	}
	fmt.Fprintln(table, "OPERATOR\tMODE\tTIMING\tTRIALS\tALARMS")
	for _, l := range r.References {
		alarms := fmt.Sprint(len(l.Alarms))
		if len(l.Alarms) > 0 {
			alarms += ": " + l.Alarms[0]
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%s\n", l.Name, l.Mode, l.Timing, l.Trials, alarms)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(out, "\nverdict: %s, after %.0f s\n", r.Verdict, r.Seconds)
	for _, c := range r.Checks {
		fmt.Fprintf(out, "  %s\n", report.Wrap(fmt.Sprintf("%s: %s: %s", c.Verdict, c.Name, c.Reason), 100, 2))
	}
	next := "labctl failover --force"
	if r.record != "" {
		fmt.Fprintf(out, "records: %s\n", dir)
		next = "labctl report " + shellWord(r.record)
	}
	_, err := fmt.Fprintf(out, "next: %s\n", a.typed(next))
	return err
}
