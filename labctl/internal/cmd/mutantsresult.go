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
	"academy.example/lab/labctl/internal/mutant"
	"academy.example/lab/labctl/internal/report"
	"academy.example/lab/labctl/internal/timeline"
	"academy.example/lab/operator/api"
)

// mutantLine is what came of one mutant, or of the reference in one way.
type mutantLine struct {
	Name     string     `json:"name"`
	Report   string     `json:"report"` // empty for the reference and an operator of one's own
	Mode     fault.Mode `json:"mode"`
	Timing   api.Timing `json:"timing"`
	Replicas int        `json:"replicas"`
	Alarm    string     `json:"alarm"` // the check that it is known by, or several, any of which tells of it; empty for the reference
	For      []string   `json:"for"`   // the mutants that a reference stands for: their fault would raise an alarm there
	Trials   int        `json:"trials"`
	Void     int        `json:"void"`
	Unseen   int        `json:"unseen"` // trials in which a check that it is known by could not be judged
	Missed   string     `json:"missed"` // what was missing in the last of them
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

	record  string // the folder of the first record that there is
	program string // of one's own operator, as it was typed
}

// take sorts what was tried into lines, and judges.
func (r *mutantsResult) take(tried []lab.Tried) {
	for _, t := range tried {
		r.record = cmp.Or(r.record, t.Run)
		line := mutantLine{Name: t.Subject.Name, Report: t.Subject.Report, Mode: t.Subject.Mode, Timing: t.Subject.Timing, Replicas: t.Subject.Replicas, Alarm: t.Subject.Alarm,
			For:    []string{},
			Trials: t.Trials, Void: t.Void, Unseen: t.Unseen, Missed: t.Missed, AtMost: t.Subject.Trials, Alarms: []string{}, Took: t.Seconds, Run: recordName(t.Run)}
		for _, m := range t.Subject.For {
			line.For = append(line.For, m.Name)
		}
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

// short says why a line was not tried as often as it had to be; "" if it was.
func (l mutantLine) short() string {
	switch {
	case l.NotTried != "":
		return "was not tried to the end: " + l.NotTried
	case l.Trials < l.AtMost && len(l.Alarms) == 0:
		return fmt.Sprintf("could be judged in %d of %s%s", l.Trials, counted(l.AtMost, "trial"), notCounted(l.Void, l.Unseen, l.Missed))
	default:
		return ""
	}
}

func mutantsCaught(lines []mutantLine) check.Check {
	c := check.Check{Name: "mutants-caught", Verdict: check.Pass}
	var missed []string
	for _, l := range lines {
		short := l.short()
		switch {
		case l.CaughtIn != nil:
		case short != "":
			missed = append(missed, l.Name+" "+short)
			c.Verdict = c.Verdict.And(check.Unknown)
		default:
			missed = append(missed, l.Name+" was not caught in "+counted(l.Trials, "trial"))
			c.Verdict = check.Fail
		}
	}
	c.Reason = fmt.Sprintf("all %d mutants were caught", len(lines))
	if len(lines) == 1 {
		c.Reason = "the mutant was caught"
	}
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
		for _, alarm := range l.Alarms {
			loud = append(loud, fmt.Sprintf("%s, %s: %s", l.Name, l.Mode, alarm))
			c.Verdict = check.Fail
		}
		if short := l.short(); short != "" {
			loud = append(loud, fmt.Sprintf("%s, %s %s", l.Name, l.Mode, short))
			c.Verdict = c.Verdict.And(check.Unknown)
		}
	}
	c.Reason = fmt.Sprintf("no alarm in %s%s", counted(trials, "trial"), check.RuleOfThree(trials))
	if len(loud) > 0 {
		c.Reason = strings.Join(loud, "; ")
	}
	if strings.Contains(c.Reason, ": "+mutant.NotReady+": ") && lines[0].Name == ownName {
		c.Reason += ". Your operator must log as academy-operator does, and take its flags, such as " + ownFlags() + ": see docs/mutants.md"
	}
	return c
}

// ownFlags are those that the replicas of an operator of one's own are started with.
func ownFlags() string {
	return "--" + strings.Join([]string{api.FlagBindAddress, api.FlagLeaseName, api.FlagLeaseNamespace, api.FlagLeaseDuration, api.FlagRenewDeadline, api.FlagRetryPeriod}, ", --")
}

// counted is a number of things, in words: 1 alarm, 2 alarms.
func counted(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}

// notCounted says which trials do not count, as a clause; "" if all do. missed is what was missing in the last that was not judged.
func notCounted(void, unseen int, missed string) string {
	var why []string
	if void > 0 {
		why = append(why, fmt.Sprintf("%d disturbed", void))
	}
	if unseen > 0 {
		why = append(why, fmt.Sprintf("%d not judged: %s", unseen, missed))
	}
	if len(why) == 0 {
		return ""
	}
	return " (beside them " + strings.Join(why, ", ") + ")"
}

func (a *app) printMutants(r mutantsResult, dir string) error {
	out := a.streams.Out
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	if len(r.Mutants) > 0 {
		fmt.Fprintln(table, "MUTANT\tREPORT\tMODE\tCHECK\tCAUGHT\tSYMPTOM")
	}
	for _, l := range r.Mutants {
		caught, symptom := fmt.Sprintf("no, in %d", l.Trials), l.Symptom
		switch short := l.short(); {
		case l.CaughtIn != nil:
			caught = fmt.Sprintf("trial %d", *l.CaughtIn)
		case short != "":
			caught, symptom = "unknown", short
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", l.Name, l.Report, l.Mode, l.Alarm, caught, cut(symptom))
	}
	if len(r.Mutants) > 0 {
		fmt.Fprintln(table)
	}
	fmt.Fprintln(table, "OPERATOR\tMODE\tTIMING\tREPLICAS\tTRIALS\tALARMS\tWOULD CATCH")
	for _, l := range r.References {
		alarms := fmt.Sprint(len(l.Alarms))
		if len(l.Alarms) == 0 && l.short() != "" {
			alarms = "unknown"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%d\t%s\t%s\n", l.Name, l.Mode, l.Timing, l.Replicas, l.Trials, alarms, strings.Join(l.For, ", "))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(out, "\nverdict: %s, after %.0f s\n", r.Verdict, r.Seconds)
	for _, c := range r.Checks {
		fmt.Fprintf(out, "  %s\n", report.Wrap(fmt.Sprintf("%s: %s: %s", c.Verdict, c.Name, timeline.Visible(c.Reason)), 100, 2))
	}
	if r.record != "" {
		fmt.Fprintf(out, "records: %s\n", dir)
	}
	_, err := fmt.Fprintf(out, "next: %s\n", a.typed(r.next()))
	return err
}

// next is the command that makes sense next: the record of a trial, or the program that did not start by hand.
func (r mutantsResult) next() string {
	switch {
	case r.record != "":
		return "labctl report " + shellWord(r.record)
	case r.program != "":
		return shellWord(r.program) + " --help"
	default:
		return "labctl doctor"
	}
}

// cut leaves a cell of the table on its line; the whole is in the verdict.
func cut(text string) string {
	const most = 100
	if letters := []rune(timeline.Visible(text)); len(letters) > most {
		return string(letters[:most]) + "…"
	}
	return timeline.Visible(text)
}
