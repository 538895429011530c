package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"academy.example/lab/labctl/internal/check"
	"academy.example/lab/labctl/internal/timeline"
)

// JUnit writes the run as a test report that CI systems read: a suite of its checks and one of its trials, each a test case. What
// failed is a failure, and what was not seen is skipped with its reason: an error would say that the test itself is broken.
func JUnit(out io.Writer, f Failover) error {
	name := filepath.Base(f.Run)
	report := junitSuites{Name: "failover " + f.Operator, Suites: []*junitSuite{{Name: "checks of run " + name}, {Name: "trials of run " + name}}}
	for _, c := range f.Checks {
		report.Suites[0].add("failover.checks", c.Name, 0, []check.Check{c})
	}
	if len(f.Checks) > 0 && !slices.ContainsFunc(f.Checks, func(c check.Check) bool { return c.Name == check.Overlap }) {
		report.Suites[0].add("failover.checks", check.Overlap, 0, []check.Check{{Name: check.Overlap, Verdict: check.Unknown, Reason: "the operator's work is not seen, and so whether two led at a time; docs/ci.md says how it can be"}})
	}
	if f.Cut != "" {
		report.Suites[0].add("failover.checks", "whole-run", 0, []check.Check{{Name: "whole-run", Verdict: check.Unknown, Reason: fmt.Sprintf("%d of %d trials were done: %s", f.N, f.Requested, f.Cut)}})
	}
	done := map[string]int{} // of each mode: its trials are counted alone, so that a case has its name in whatever order they are done
	for i, t := range f.Trials {
		done[t.Mode]++
		checks := NewFailover(f.Header, []timeline.Trial{t}, f.Run).Checks
		for k := range checks {
			checks[k].Reason = strings.ReplaceAll(checks[k].Reason, "trial 1 (", fmt.Sprintf("trial %d (", i+1))
		}
		report.Suites[1].add("failover.trials", fmt.Sprintf("%s %d", t.Mode, done[t.Mode]), orZero(t.GapSeconds), checks, shown(t))
	}
	for _, s := range report.Suites {
		report.Tests, report.Failures, report.Skipped = report.Tests+s.Tests, report.Failures+s.Failures, report.Skipped+s.Skipped
		if len(f.Trials) > 0 {
			s.Timestamp = f.Trials[0].WallT0.UTC().Format(time.RFC3339)
		}
	}
	if _, err := io.WriteString(out, xml.Header); err != nil {
		return err
	}
	encoder := xml.NewEncoder(out)
	encoder.Indent("", "  ")
	if err := encoder.Encode(report); err != nil {
		return err
	}
	_, err := io.WriteString(out, "\n")
	return err
}

// shown is a trial's class and gap, as far as they were seen.
func shown(t timeline.Trial) string {
	text := "class " + string(t.Class)
	if t.LockGapSeconds != nil {
		text += fmt.Sprintf(", lock gap %.2f s", *t.LockGapSeconds)
	}
	return text
}

func orZero(v *float64) float64 {
	if v == nil {
		return 0
	}
	return *v
}

// The elements of a JUnit report, as Jenkins and its followers read it.
type junitSuites struct {
	XMLName  xml.Name      `xml:"testsuites"`
	Name     string        `xml:"name,attr"`
	Tests    int           `xml:"tests,attr"`
	Failures int           `xml:"failures,attr"`
	Skipped  int           `xml:"skipped,attr"`
	Suites   []*junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name      string      `xml:"name,attr"`
	Tests     int         `xml:"tests,attr"`
	Failures  int         `xml:"failures,attr"`
	Skipped   int         `xml:"skipped,attr"`
	Timestamp string      `xml:"timestamp,attr,omitempty"`
	Cases     []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string        `xml:"classname,attr"`
	Name    string        `xml:"name,attr"`
	Time    string        `xml:"time,attr"` // seconds; of a trial its user gap
	Failure *junitOutcome `xml:"failure,omitempty"`
	Skipped *junitOutcome `xml:"skipped,omitempty"`
	Out     string        `xml:"system-out,omitempty"`
}

type junitOutcome struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// add puts a case into the suite: its verdict is that of its checks.
func (s *junitSuite) add(class, name string, took float64, checks []check.Check, about ...string) {
	c := junitCase{Class: class, Name: timeline.Visible(name), Time: fmt.Sprintf("%.3f", took)}
	verdict := check.Overall(checks)
	var told []string
	all := about
	for _, one := range checks {
		line := timeline.Visible(fmt.Sprintf("%s: %s: %s", one.Name, one.Verdict, one.Reason))
		all = append(all, line)
		if one.Verdict == verdict {
			told = append(told, line)
		}
	}
	s.Tests++
	switch verdict {
	case check.Fail:
		s.Failures++
		c.Failure = &junitOutcome{Message: told[0], Text: strings.Join(told, "; ")}
	case check.Unknown:
		s.Skipped++
		c.Skipped = &junitOutcome{Message: strings.Join(told, "; ")}
	case check.Pass:
	}
	c.Out = timeline.Visible(strings.Join(all, "; "))
	s.Cases = append(s.Cases, c)
}
