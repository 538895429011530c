package timeline

import (
	"testing"

	"academy.example/lab/operator/api"
)

// A leader that rejoins has a log without an end. That it contends again says that it does not lead.
func TestMeasure_TheLogOfALeaderThatRejoinsNeedsNoEnd(t *testing.T) {
	none, unseen := 0.0, -1.0
	for name, c := range map[string]struct {
		attempt float64
		want    float64
	}{
		"it contends after the successor's first work":       {25, none},
		"it contended before, and was not heard of since":    {20, unseen},
		"it said nothing after the fault: it may still work": {8, unseen},
	} {
		s := steady().fault(9, "slow").lease(24, "other", 4).log(24.1, "other", api.MessageReconcile)
		if c.attempt > 9 {
			s.log(c.attempt, "old", api.MessageAttempt)
		}
		got := Measure(s.add(28, Event{Kind: TrialEnded}).events, 1).OverlapSeconds
		if (got == nil) != (c.want == unseen) || got != nil && *got != c.want {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}
