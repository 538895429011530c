package exercise_test

import (
	"strings"
	"testing"

	"academy.example/lab/labctl/internal/check"
)

// The number of trials that a mean needs is that of the run's own spread, give or take a twentieth for rounded figures.
func TestJudge_theNumberOfTrialsThatAMeanNeeds(t *testing.T) {
	e := find(t, "17")
	for answer, want := range map[string]check.Verdict{"58": check.Pass, "56": check.Pass, "40": check.Fail, "10": check.Fail, "90": check.Fail, "570": check.Fail} {
		p := proofOf(t, e.Name)
		p.Entry.Answers["needed"] = answer
		if got := judge(e, p)["needed"]; got.Verdict != want || !strings.Contains(got.Evidence, "10 gaps, 5.88 ± 0.48 s") {
			t.Errorf("%s: got %s, %q, %q; want %s", answer, got.Verdict, got.Reason, got.Evidence, want)
		}
	}
	p := proofOf(t, e.Name)
	p.Runs[0].Trials = p.Runs[0].Trials[:7]
	if got := judge(e, p)["ten"]; got.Verdict != check.Fail || !strings.Contains(got.Reason, "7 of 8 trials") {
		t.Errorf("seven trials: got %s, %q", got.Verdict, got.Reason)
	}
	p.Runs[0].Trials = p.Runs[0].Trials[:1]
	if got := judge(e, p)["needed"]; got.Verdict == check.Pass {
		t.Errorf("one trial has no margin: got %q", got.Reason)
	}
}

// Two leaders that are asked for must have been seen, and none where none are asked for; what was not seen is unknown.
func TestJudge_twoLeaders(t *testing.T) {
	e := find(t, "15")
	zero, two := 0.0, 2.0
	for name, c := range map[string]struct {
		run, item string
		overlap   *float64
		want      check.Verdict
		reason    string
	}{
		"two":             {"plain", "plain", &two, check.Pass, "two leaders in 1 of 1"},
		"none, but two":   {"plain", "plain", &zero, check.Fail, "no two leaders worked at a time, and two are asked for"},
		"two, but none":   {"guarded", "guarded", &two, check.Fail, "two leaders worked for 2.00 s, and none are asked for"},
		"none":            {"guarded", "guarded", &zero, check.Pass, "no two leaders in 1 of 1"},
		"not seen":        {"guarded", "guarded", nil, check.Unknown, "was not seen"},
		"not seen, plain": {"plain", "plain", nil, check.Unknown, "was not seen"},
	} {
		p := proofOf(t, e.Name)
		for i := range p.Runs {
			if string(p.Runs[i].Election) == c.run {
				p.Runs[i].Trials[0].OverlapSeconds = c.overlap
			}
		}
		if got := judge(e, p)[c.item]; got.Verdict != c.want || !strings.Contains(got.Reason, c.reason) {
			t.Errorf("%s: got %s, %q; want %s, %q", name, got.Verdict, got.Reason, c.want, c.reason)
		}
	}
}
