package pulse_test

import (
	"slices"
	"testing"
	"time"

	"academy.example/lab/labctl/internal/pulse"
	"academy.example/lab/labctl/internal/timeline"
)

var epoch = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

func at(seconds float64) time.Time { return epoch.Add(time.Duration(seconds * float64(time.Second))) }

func event(seconds float64, kind timeline.Kind) timeline.Event {
	return timeline.Event{Seconds: seconds, Wall: at(seconds), Kind: kind, Trial: 1}
}

func lease(seconds float64, holder string, duration int) timeline.Event {
	e := event(seconds, timeline.LeaseSeen)
	e.Lease = &timeline.Lease{Holder: holder, LeaseDurationSeconds: duration, RenewTime: at(seconds)}
	return e
}

func process(seconds float64, kind timeline.Kind, pod string) timeline.Event {
	e := event(seconds, kind)
	e.Process = &timeline.Process{Pod: pod}
	return e
}

func fault(seconds float64) timeline.Event {
	e := event(seconds, timeline.FaultIssued)
	e.Fault = &timeline.Fault{Mode: "rollout"}
	return e
}

func TestOf(t *testing.T) {
	gone := process(10.1, timeline.ProcessGone, "a")
	for _, c := range []struct {
		what               string
		events             []timeline.Event
		leaderless, silent float64
		reasons            []string
	}{
		{"released: every moment of the gap is silent", []timeline.Event{lease(9, "a", 15), fault(10), lease(10.1, "", 1), process(10.2, timeline.ProcessGone, "a"),
			lease(12, "b", 15), event(14, timeline.TrialEnded)}, 1.9, 1.9, []string{pulse.NoHolder}},
		{"left in place: the window covers it", []timeline.Event{lease(9, "a", 15), fault(10), gone, lease(27, "b", 15), event(28, timeline.TrialEnded)}, 16.9, 0, []string{}},
		{"left in place for longer than two durations: the rest is silent", []timeline.Event{lease(9, "a", 15), fault(10), gone, lease(44, "b", 15), event(45, timeline.TrialEnded)},
			33.9, 5, []string{pulse.Stale}},
		{"the same, with events in between", []timeline.Event{lease(9, "a", 15), fault(10), gone, event(20, timeline.LogLine), event(40, timeline.LogLine), event(41, timeline.LogLine),
			lease(44, "b", 15), event(45, timeline.TrialEnded)}, 33.9, 5, []string{pulse.Stale}},
		{"the same identity, restarted", []timeline.Event{lease(9, "a", 15), fault(10), gone, process(12, timeline.ProcessUp, "a"), lease(13, "a", 15), event(14, timeline.TrialEnded)},
			1.9, 0, []string{}},
		{"deleted", []timeline.Event{lease(9, "a", 15), process(9.5, timeline.ProcessUp, "b"), fault(10), event(10.5, timeline.LeaseGone), lease(12, "b", 15), event(14, timeline.TrialEnded)},
			1.5, 1.5, []string{pulse.Missing}},
	} {
		got := pulse.Of(c.events)
		if len(got) != 1 || got[0].LeaderlessSeconds == nil {
			t.Errorf("%s: got %+v", c.what, got)
			continue
		}
		p := got[0]
		if *p.LeaderlessSeconds != c.leaderless || p.NoHeartbeatSeconds != c.silent || !slices.Equal(p.Reasons, c.reasons) || p.Mode != "rollout" {
			t.Errorf("%s: got %v s leaderless, %v s silent, %v; want %v, %v, %v", c.what, *p.LeaderlessSeconds, p.NoHeartbeatSeconds, p.Reasons, c.leaderless, c.silent, c.reasons)
		}
	}
}
