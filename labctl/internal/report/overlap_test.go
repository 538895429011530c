package report

import (
	"strings"
	"testing"

	"academy.example/lab/labctl/internal/timeline"
)

func TestOverlaps(t *testing.T) {
	trials := func(n int, change func(*timeline.Trial)) []group {
		g := group{mode: "freeze"}
		for range n {
			trial := timeline.Trial{Mode: "freeze", OverlapSeconds: new(0.0), GapSeconds: new(2.0)}
			change(&trial)
			g.trials = append(g.trials, trial)
		}
		return []group{g}
	}
	for name, c := range map[string]struct {
		groups []group
		want   string
	}{
		"none in fifty":  {trials(50, func(t *timeline.Trial) { t.RefusedWrites = 2 }), "two leaders: in 0 of 50 trials (none in 50: at 95 % confidence less than 6 % of trials)\nwrites of an old leader after its successor's first work: 0 went through, 100 refused"},
		"too few":        {trials(3, func(*timeline.Trial) {}), ""},
		"in each of two": {trials(2, func(t *timeline.Trial) { t.OverlapSeconds, t.LateWrites = new(3.0), 1 }), "two leaders: in 2 of 2 trials, for 3.00 / 3.00 / 3.00 s (min/median/max)\nwrites of an old leader after its successor's first work: 2 went through, 0 refused"},
		"not seen":       {trials(50, func(t *timeline.Trial) { t.OverlapSeconds = nil }), ""},
		"void":           {trials(50, func(t *timeline.Trial) { t.Void = "a hole" }), ""},
	} {
		if got := overlaps(c.groups); strings.TrimSpace(got) != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, c.want)
		}
	}
	if got := leaderless(trials(4, func(t *timeline.Trial) { t.LockGapSeconds = new(1.5) })); got != "nobody led for 6.0 s in sum" {
		t.Errorf("got %q, want the sum of the lock gaps, not of the user gaps", got)
	}
	if got := leaderless(trials(1, func(t *timeline.Trial) { t.LockGapSeconds, t.HandOvers = new(1.5), make([]timeline.HandOver, 2) })); !strings.HasSuffix(got, "the first one of each trial") {
		t.Errorf("got %q, though there were two hand-overs", got)
	}
}
