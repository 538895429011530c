// Package check owns the verdicts: rules over finished trials, each with the reason in words.
package check

import (
	"fmt"
	"strings"

	"academy.example/lab/labctl/internal/gap"
	"academy.example/lab/labctl/internal/timeline"
)

// Verdict is the outcome of a rule. What was not observed is Unknown, never Fail.
type Verdict string

// The three verdicts.
const (
	Pass    Verdict = "pass"
	Fail    Verdict = "fail"
	Unknown Verdict = "unknown"
)

// Check is one rule's verdict over all trials of a run.
type Check struct {
	Name    string  `json:"name"`
	Verdict Verdict `json:"verdict"`
	Reason  string  `json:"reason"`
	// Hint is a command that helps with a verdict other than Pass; empty if there is none.
	Hint string `json:"hint,omitempty"`
}

// Case is a trial and what the model says of it.
type Case struct {
	Trial timeline.Trial
	Input gap.Input
}

// rule judges one case: the reason is given for every verdict but Pass.
type rule struct {
	name  string
	claim string
	judge func(Case) (Verdict, string)
}

func rules() []rule {
	return []rule{
		{"class-expected", "the Lease changed hands as the mode leads to", classExpected},
		{"gap-in-band", "the lock gap lies in the predicted range", gapInBand},
		{"overlap-none", "no two leaders worked at the same time", overlapNone},
		{"transitions", "leaseTransitions rose by one for each hand-over", transitions},
	}
}

// Run judges every rule over all cases.
func Run(cases []Case) []Check {
	var checks []Check
	for _, r := range rules() {
		checks = append(checks, r.over(cases))
	}
	return checks
}

// Overall is Fail if any check failed, else Unknown if any is, else Pass. No check at all is Unknown.
func Overall(checks []Check) Verdict {
	overall := Pass
	if len(checks) == 0 {
		overall = Unknown
	}
	for _, c := range checks {
		switch c.Verdict {
		case Fail:
			return Fail
		case Unknown:
			overall = Unknown
		case Pass:
		}
	}
	return overall
}

func (r rule) over(cases []Case) Check {
	out := Check{Name: r.name, Verdict: Pass}
	var reasons []string
	for i, c := range cases {
		verdict, reason := Unknown, c.Trial.Void // a void trial passes nothing
		if c.Trial.Void == "" {
			verdict, reason = r.judge(c)
		}
		if verdict == Pass {
			continue
		}
		if verdict == Fail || out.Verdict == Pass {
			out.Verdict = verdict
		}
		reasons = append(reasons, fmt.Sprintf("trial %d (%s): %s", i+1, c.Trial.Mode, reason))
	}
	switch {
	case len(cases) == 0:
		out.Verdict, out.Reason = Unknown, "no trial was measured"
	case out.Verdict == Pass:
		out.Reason = fmt.Sprintf("%s, in %d of %d trials", r.claim, len(cases), len(cases))
	default:
		out.Reason = strings.Join(reasons, "; ")
	}
	return out
}

func classExpected(c Case) (Verdict, string) {
	want := c.Input.Class()
	switch {
	case c.Trial.Class == timeline.Unknown:
		return Unknown, c.Trial.Void
	case c.Trial.Class != want:
		reason := fmt.Sprintf("class %s, expected %s", c.Trial.Class, want)
		if len(c.Trial.Errors) > 0 {
			reason += "; the operator logged: " + c.Trial.Errors[0]
		}
		return Fail, reason
	default:
		return Pass, ""
	}
}

// gapInBand compares with the band of the class that was seen, so that one surprise is reported once.
func gapInBand(c Case) (Verdict, string) {
	if c.Trial.LockGapSeconds == nil {
		return Unknown, "the lock gap was not seen"
	}
	switch c.Trial.Class {
	case timeline.Unknown, timeline.Stolen, timeline.Deleted:
		return Unknown, fmt.Sprintf("there is no prediction for class %s", c.Trial.Class)
	default:
	}
	p := gap.PredictClass(c.Input, c.Trial.Class)
	if !p.Holds(*c.Trial.LockGapSeconds) {
		return Fail, fmt.Sprintf("%.2f s is outside of %.1f … %.1f s (tolerances −%.1f and +%.1f s)",
			*c.Trial.LockGapSeconds, p.MinSeconds, p.MaxSeconds, gap.EarlySeconds, gap.LateSeconds)
	}
	return Pass, ""
}

func overlapNone(c Case) (Verdict, string) {
	switch {
	case c.Trial.OverlapSeconds == nil:
		return Unknown, "the work of both leaders was not seen"
	case *c.Trial.OverlapSeconds > 0:
		return Fail, fmt.Sprintf("two leaders worked for %.2f s", *c.Trial.OverlapSeconds)
	default:
		return Pass, ""
	}
}

func transitions(c Case) (Verdict, string) {
	if c.Trial.TransitionsAfter == nil {
		return Unknown, "no new holder was seen"
	}
	want := c.Trial.TransitionsBefore + 1
	switch c.Trial.Class {
	case timeline.SameIdentity:
		want = c.Trial.TransitionsBefore
	case timeline.Deleted:
		want = 0
	default:
	}
	if got := *c.Trial.TransitionsAfter; got != want {
		return Fail, fmt.Sprintf("leaseTransitions went from %d to %d, expected %d", c.Trial.TransitionsBefore, got, want)
	}
	return Pass, ""
}
