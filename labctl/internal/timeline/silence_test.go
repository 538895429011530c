package timeline

import (
	"testing"

	"academy.example/lab/operator/api"
)

// A holder that is silenced is gone, for the Lease, when that was accepted; its later end and its container's restart belong to
// it and take nothing from the successor.
func TestMeasure_ASilencedHolder(t *testing.T) {
	s := steady().fault(9, "freeze")
	s.events[len(s.events)-2].Fault.Silences = true
	s.lease(24, "other", 4).log(24.1, "other", api.MessageReconcile).work(24.1, "other")
	for at := 34.0; at < 44.01; at += 0.1 {
		s.log(at, "old", api.MessageReconcile)
	}
	s.process(44.2, ProcessGone, "old").process(45.2, ProcessUp, "old")
	got := Measure(s.events, 1)
	figure(t, "lock gap", got.LockGapSeconds, 15)
	figure(t, "gap", got.GapSeconds, 15.1)
	if got.Class != Expired || got.Winner != Standby || got.OverlapSeconds == nil || *got.OverlapSeconds < 9.9 || *got.OverlapSeconds > 10.1 {
		t.Errorf("got %s, %s, overlap %v, void %q; want expired, standby, 10 s", got.Class, got.Winner, got.OverlapSeconds, got.Void)
	}
}
