package check

import (
	"slices"
	"strings"
	"testing"

	"academy.example/lab/labctl/internal/fault"
	"academy.example/lab/labctl/internal/gap"
	"academy.example/lab/labctl/internal/timeline"
	"academy.example/lab/operator/api"
)

func ptr[T any](v T) *T { return &v }

func terms(phase, residual float64) *timeline.Terms {
	return &timeline.Terms{PollPhaseSeconds: phase, ResidualSeconds: residual}
}

// good is a kill at 15/10/2 that passes every rule; a test spoils one thing in it.
func good(spoil func(*timeline.Trial)) Case {
	t := timeline.Trial{Mode: "kill", Class: timeline.Expired, Winner: timeline.Standby, LockGapSeconds: ptr(17.3), GapSeconds: ptr(17.4),
		OverlapSeconds: ptr(0.0), TransitionsBefore: 3, TransitionsAfter: ptr(4), Terms: terms(1.5, 0.01)}
	if spoil != nil {
		spoil(&t)
	}
	return Case{Trial: t, Input: gap.Input{Timing: api.Default(), Mode: fault.Kill, Standbys: 1, ReplacementStart: 1.4}}
}

func TestRun_EachRuleCanFailAndCanBeUnknown(t *testing.T) {
	for _, c := range []struct {
		name    string
		spoil   func(*timeline.Trial)
		rule    string
		verdict Verdict
		reason  string // a part of it
	}{
		{"nothing", nil, "gap-in-band", Pass, "in 1 of 1 trials"},
		{"another class", func(t *timeline.Trial) { t.Class, t.LockGapSeconds = timeline.Released, ptr(1.0) }, "class-expected", Fail, "class released, expected expired"},
		{"unknown class", func(t *timeline.Trial) { t.Class, t.Void = timeline.Unknown, "a hole" }, Undisturbed, Unknown, "a hole"},
		{"a void trial passes nothing", func(t *timeline.Trial) { t.Class, t.Void = timeline.Unknown, "a hole" }, "class-expected", Unknown, NoneCounts},
		{"too short", func(t *timeline.Trial) { t.LockGapSeconds = ptr(12.8) }, "gap-in-band", Fail, "12.80 s is outside of 13.0 … 23.8 s"},
		{"too long", func(t *timeline.Trial) { t.LockGapSeconds = ptr(24.4) }, "gap-in-band", Fail, "24.40 s is outside"},
		{"no lock gap", func(t *timeline.Trial) { t.LockGapSeconds = nil }, "gap-in-band", Unknown, "was not seen"},
		{"no model", func(t *timeline.Trial) { t.Class = timeline.Stolen }, "gap-in-band", Unknown, "no prediction for class stolen"},
		{"two leaders", func(t *timeline.Trial) { t.OverlapSeconds = ptr(4.7) }, "overlap-none", Fail, "two leaders worked for 4.70 s"},
		{"overlap not seen", func(t *timeline.Trial) { t.OverlapSeconds = nil }, "overlap-none", Unknown, "was not seen"},
		{"two transitions", func(t *timeline.Trial) { t.TransitionsAfter = ptr(5) }, "transitions", Fail, "from 3 to 5, expected 4"},
		{"no transition seen", func(t *timeline.Trial) { t.TransitionsAfter = nil }, "transitions", Unknown, "no new holder"},
		{"terms that add up", nil, "terms-add-up", Pass, "in 1 of 1 trials whose requests were logged"},
		{"the largest residual", func(t *timeline.Trial) { t.Terms = terms(1.5, 0.5) }, "terms-add-up", Pass, "in 1 of 1"},
		{"a residual too large", func(t *timeline.Trial) { t.Terms = terms(1.5, 0.51) }, "terms-add-up", Fail, "0.51 s of the lock gap are not explained"},
		{"a residual too small", func(t *timeline.Trial) { t.Terms = terms(1.5, -0.51) }, "terms-add-up", Fail, "-0.51 s of the lock gap are not explained"},
		{"the longest poll phase", func(t *timeline.Trial) { t.Terms = terms(4.9, 0) }, "terms-add-up", Pass, "in 1 of 1"},
		{"a poll phase too long", func(t *timeline.Trial) { t.Terms = terms(4.91, 0) }, "terms-add-up", Fail, "4.91 s after it was free, outside of 0 … 4.4 s"},
		{"a poll before the Lease was free", func(t *timeline.Trial) { t.Terms = terms(-0.01, 0) }, "terms-add-up", Fail, "-0.01 s after it was free"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, got := range Run([]Case{good(c.spoil)}) {
				if got.Name != c.rule {
					continue
				}
				if got.Verdict != c.verdict || !strings.Contains(got.Reason, c.reason) {
					t.Errorf("%s: got %s: %s; want %s: …%s…", c.rule, got.Verdict, got.Reason, c.verdict, c.reason)
				}
				return
			}
			t.Errorf("there is no rule %s", c.rule)
		})
	}
}

func TestRun_FailIsNotHiddenByUnknown(t *testing.T) {
	checks := Run([]Case{
		good(func(t *timeline.Trial) { t.OverlapSeconds = ptr(1.0) }),
		good(func(t *timeline.Trial) { t.OverlapSeconds = nil }),
		good(nil),
	})
	if got := Overall(checks); got != Fail {
		t.Errorf("one overlap, one not seen, one good: got %s, want fail", got)
	}
}

func TestOverall(t *testing.T) {
	for _, c := range []struct {
		checks []Check
		want   Verdict
	}{
		{nil, Unknown},
		{[]Check{{Verdict: Pass}}, Pass},
		{[]Check{{Verdict: Pass}, {Verdict: Unknown}}, Unknown},
		{[]Check{{Verdict: Unknown}, {Verdict: Fail}}, Fail},
	} {
		if got := Overall(c.checks); got != c.want {
			t.Errorf("Overall(%v): got %s, want %s", c.checks, got, c.want)
		}
	}
}

func TestRun_NoTrialIsUnknown(t *testing.T) {
	if got := Overall(Run(nil)); got != Unknown {
		t.Errorf("no trial: got %s, want unknown", got)
	}
}

func TestRun_TermsConcernOnlyTrialsThatHaveThem(t *testing.T) {
	without := func(t *timeline.Trial) { t.Terms = nil }
	for _, c := range Run([]Case{good(without)}) {
		if c.Name == "terms-add-up" {
			t.Errorf("no trial has terms: got %+v, want no such check", c)
		}
	}
	checks := Run([]Case{good(without), good(nil)})
	last := checks[len(checks)-1]
	if last.Name != "terms-add-up" || last.Verdict != Pass || !strings.Contains(last.Reason, "in 1 of 1 trials whose requests were logged") {
		t.Errorf("one of two trials has terms: got %+v", last)
	}
	late := func(t *timeline.Trial) {
		t.Class, t.Winner, t.Terms = timeline.Released, timeline.Replacement, terms(9.9, 0)
	}
	slow := good(late)
	slow.Input.ReplacementStart = 10
	if got, reason := termsAddUp(slow); got != Pass {
		t.Errorf("a replacement that starts after 10 s: got %s: %s, want pass", got, reason)
	}
	if got, _ := termsAddUp(good(late)); got != Fail {
		t.Errorf("a replacement that polls long after its start: got %s, want fail", got)
	}
}

func TestRun_OfAForeignOperatorOnlyWhatCanBeSeenIsJudged(t *testing.T) {
	c := good(func(t *timeline.Trial) {
		t.Class, t.LockGapSeconds, t.OverlapSeconds, t.Terms = timeline.Released, ptr(0.3), nil, nil
	})
	c.Foreign = true
	var names []string
	for _, done := range Run([]Case{c}) {
		names = append(names, done.Name)
		if done.Verdict != Pass {
			t.Errorf("%s: got %s (%s)", done.Name, done.Verdict, done.Reason)
		}
	}
	if want := []string{Undisturbed, "gap-in-band", "transitions"}; !slices.Equal(names, want) {
		t.Errorf("got the checks %v, want %v: what it should do is not known, and its work is not seen", names, want)
	}
}

// What the model says nothing of is in no range.
func TestGapInBand_WithoutAPredictionThereIsNoVerdict(t *testing.T) {
	gapSeconds := 17.0
	for name, in := range map[string]gap.Input{"a mode that nobody knows": {Timing: api.Default(), Mode: "nuke", Standbys: 1}, "no candidate": {Timing: api.Default(), Mode: fault.Kill}} {
		trial := timeline.Trial{Mode: string(in.Mode), Class: timeline.Expired, LockGapSeconds: &gapSeconds}
		for _, c := range Only([]Case{{Trial: trial, Input: in}}, GapInBand) {
			if c.Verdict != Unknown {
				t.Errorf("%s: got %s: %s", name, c.Verdict, c.Reason)
			}
		}
	}
}

// A leader that is asked to stop and does not release renews no more from then on, and lives until its work has stopped: its
// record runs out that much sooner after its end.
func TestGapInBand_CountsFromTheLastSignOfLife(t *testing.T) {
	for _, c := range []struct {
		gap, asked, ended float64
		want              Verdict
	}{
		{11.5, 0.1, 2.1, Pass}, // 13.5 s after it was asked
		{11.5, 0.1, 0.1, Fail},
		{23.5, 0.1, 2.1, Fail}, // 25.5 s after it was asked
		{23.5, 0.1, 0.1, Pass},
	} {
		trial := timeline.Trial{Mode: string(fault.Graceful), Class: timeline.Expired, LockGapSeconds: &c.gap, Standbys: 1,
			InstantsSeconds: map[string]float64{timeline.T2: c.asked, timeline.T3: c.ended}}
		in := gap.Input{Timing: api.Default(), Mode: fault.Graceful, Standbys: 1, KeepsLease: true, StopSeconds: trial.StopSeconds()}
		if got := Only([]Case{{Trial: trial, Input: in}}, GapInBand); len(got) != 1 || got[0].Verdict != c.want {
			t.Errorf("%+v: got %+v, want %s", c, got, c.want)
		}
	}
}
