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

// elect is an upgrade at 5/3/1 where the API server elects, which passes every rule that concerns it.
func elect(spoil func(*timeline.Trial)) Case {
	t := timeline.Trial{Mode: "upgrade", Class: timeline.Released, Winner: timeline.Standby, LockGapSeconds: ptr(11.4), GapSeconds: ptr(33.0),
		OverlapSeconds: ptr(0.0), TransitionsBefore: 3, TransitionsAfter: ptr(3), LeaseDurationSeconds: 5,
		Elected: &timeline.Elected{NamedGone: 1}, Upgrade: &timeline.Upgrade{From: "1.0.0", To: "1.1.0", Contested: true}}
	if spoil != nil {
		spoil(&t)
	}
	return Case{Trial: t, Input: gap.Input{Timing: api.Fast(), Mode: fault.Upgrade, Standbys: 1, ReplacementStart: 1.4, Coordinated: true}}
}

func TestRun_WhereTheAPIServerElects(t *testing.T) {
	for name, c := range map[string]struct {
		spoil   func(*timeline.Trial)
		rule    string
		verdict Verdict
		reason  string
	}{
		"nothing":                  {nil, "older-leads", Pass, "no newer version held the Lease"},
		"a newer one led":          {func(t *timeline.Trial) { t.Upgrade.NewerLedSeconds = 2 }, "older-leads", Fail, "version 1.1.0 held the Lease for 2.00 s while version 1.0.0 was there"},
		"no older one was left":    {func(t *timeline.Trial) { t.Upgrade.Contested = false }, "older-leads", Unknown, "no replica of version 1.0.0 was left"},
		"versions were not seen":   {func(t *timeline.Trial) { t.Upgrade = nil }, "older-leads", Unknown, "was not seen"},
		"transitions that stay":    {nil, "transitions", Pass, "leaseTransitions stayed"},
		"a transition was counted": {func(t *timeline.Trial) { t.TransitionsAfter = ptr(4) }, "transitions", Fail, "from 3 to 4, expected 3"},
		"in the band":              {nil, GapInBand, Pass, "in 1 of 1"},
		"too long":                 {func(t *timeline.Trial) { t.LockGapSeconds = ptr(15.6) }, GapInBand, Fail, "outside of 0.0 … 15.0 s"},
	} {
		got := Run([]Case{elect(c.spoil)})
		i := slices.IndexFunc(got, func(o Check) bool { return o.Name == c.rule })
		if i < 0 || got[i].Verdict != c.verdict || !strings.Contains(got[i].Reason, c.reason) {
			t.Errorf("%s: got %+v, want %s %s %q", name, got, c.rule, c.verdict, c.reason)
		}
	}
	for _, o := range Run([]Case{elect(nil)}) {
		if o.Verdict != Pass || o.Name == "terms-add-up" || o.Name == Distribution {
			t.Errorf("got %+v: nothing is to be said without a look", o)
		}
	}
	if slices.ContainsFunc(Run([]Case{good(nil)}), func(o Check) bool { return o.Name == "older-leads" }) {
		t.Error("a classic failover is judged by versions")
	}
}
