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

// Where no node tells of processes, a container's restart is told by its pod's status, later than the new process's write.
func TestMeasure_ARestartThatIsToldLate(t *testing.T) {
	s := steady().fault(9, "crash").process(9.01, ProcessGone, "old").lease(9.9, "old", 3).log(9.95, "old", api.MessageReconcile)
	before := Measure(s.events, 1)
	s.add(10.2, Event{Kind: PodSeen, Pod: &Pod{Name: "old", UID: "old-uid", Restarts: 1}}).log(10.3, "old", api.MessageReconcile)
	got := Measure(s.events, 1)
	if before.Void == "" || got.Void != "" || got.Class != SameIdentity {
		t.Errorf("before it is told: %q; then: %s, %q", before.Void, got.Class, got.Void)
	}
	figure(t, "lock gap", got.LockGapSeconds, 0.89)
}
