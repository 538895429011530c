package timeline

import (
	"testing"
	"time"

	"academy.example/lab/operator/api"
)

func TestMeasure_EachInstantHasASourceAndALag(t *testing.T) {
	got := Measure(steady().fault(9, "graceful").log(9.05, "old", api.MessageSignal).lease(9.1, "", 3).end(9.12).
		lease(10.5, "other", 4).log(10.49, "other", api.MessageStartedLead).log(10.51, "other", api.MessageReconcile).events, 1)
	for name, want := range map[string]struct {
		source Source
		lag    float64 // what the script's sources lag
	}{
		T1: {SourceCommand, 0}, T2: {SourceLog, 0.001}, T3: {SourceNode, 0.002}, T4: {SourceLease, 0.004}, T5: {SourceLease, 0.004},
		T6: {SourceLog, 0.001}, T7: {SourceLog, 0.001},
	} {
		if got.Sources[name] != want.source {
			t.Errorf("%s: got source %q, want %q", name, got.Sources[name], want.source)
		}
		lag, known := got.LagsSeconds[name]
		if !known || lag != want.lag {
			t.Errorf("%s: got lag %v (%t), want %v", name, lag, known, want.lag)
		}
	}
	figure(t, "uncertainty", got.UncertaintySeconds, 0.004)
	figure(t, "gap uncertainty", got.GapUncertaintySeconds, 0.001)
	figure(t, "overlap uncertainty", got.OverlapUncertaintySeconds, 0.2)
	figure(t, "clock offset", got.ClockOffsetSeconds, -1)
}

func TestMeasure_UncertaintyIsThatOfTheLaterInstant(t *testing.T) {
	s := steady().fault(9, "kill").add(9.01, Event{Kind: ProcessGone, Process: &Process{Pod: "old", UID: "old-uid", At: wall(8.99)}}).
		lease(24, "other", 4)
	figure(t, "uncertainty", Measure(s.events, 1).UncertaintySeconds, 0.02)
}

func TestMeasure_AnotherClockIsNotSubtracted(t *testing.T) {
	far := steady().lease(10, "old", 3)
	for i := range far.events {
		if l := far.events[i].Lease; l != nil {
			l.RenewTime = l.RenewTime.Add(time.Hour)
		}
	}
	far.events[3].Lease.RenewTime = far.events[3].Lease.RenewTime.Add(-30 * time.Millisecond) // one renewal that came late
	s := far.fault(10.5, "kill").end(10.51).lease(26, "other", 4)
	for i := range s.events {
		if f := s.events[i].Fault; f != nil {
			f.SharedClock = false
		}
	}
	got := Measure(s.events, 1)
	figure(t, "lock gap", got.LockGapSeconds, 15.49)
	figure(t, "uncertainty: how much later than the quickest the others come", got.UncertaintySeconds, 0.03)
	if got.ClockOffsetSeconds == nil || *got.ClockOffsetSeconds != -3599.996 {
		t.Errorf("clock offset: got %v, want an hour ahead less 4 ms", got.ClockOffsetSeconds)
	}
	if len(got.LagsSeconds) != 1 { // the command's alone
		t.Errorf("lags by another clock: got %v, want none but T1's", got.LagsSeconds)
	}
}

// A wall clock that is set during the trial changes no figure: gaps are differences of arrivals, and a lag compares two
// readings of the wall clock that are milliseconds apart.
func TestMeasure_ASteppedWallClockChangesNothing(t *testing.T) {
	build := func() *script {
		return steady().request(8, "old", "update").fault(9, "kill").end(9.01).request(10, "other", "get").request(25.5, "other", "get").
			lease(25.51, "other", 4).log(25.6, "other", api.MessageReconcile)
	}
	want, stepped := Measure(build().events, 1), build()
	for i := range stepped.events {
		e := &stepped.events[i]
		if e.Seconds <= 15 {
			continue
		}
		e.Wall = e.Wall.Add(time.Hour)
		switch {
		case e.Lease != nil:
			e.Lease.RenewTime = e.Lease.RenewTime.Add(time.Hour)
		case e.Log != nil:
			e.Log.Time = e.Log.Time.Add(time.Hour)
		case e.Request != nil:
			e.Request.Received, e.Request.Answered = e.Request.Received.Add(time.Hour), e.Request.Answered.Add(time.Hour)
		}
	}
	got := Measure(stepped.events, 1)
	if got.Void != "" || *got.LockGapSeconds != *want.LockGapSeconds || *got.GapSeconds != *want.GapSeconds ||
		*got.UncertaintySeconds != *want.UncertaintySeconds || got.Terms.PollPhaseSeconds != want.Terms.PollPhaseSeconds {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}

// An overlap is seen by the two leaders' logs, also if the wall clock is set back between them.
func TestMeasure_ASteppedWallClockHidesNoOverlap(t *testing.T) {
	for _, step := range []time.Duration{0, -10 * time.Second, time.Hour} {
		s := steady().fault(9, "freeze").lease(24, "other", 4).log(24.1, "other", api.MessageReconcile)
		for i := range 6 {
			s.log(26+float64(i)*0.1, "old", api.MessageReconcile)
		}
		s.end(26.6)
		for i := range s.events {
			if e := &s.events[i]; e.Seconds > 25 {
				e.Wall = e.Wall.Add(step)
				if e.Log != nil {
					e.Log.Time = e.Log.Time.Add(step)
				}
			}
		}
		if got := Measure(s.events, 1); got.OverlapSeconds == nil || *got.OverlapSeconds < 0.49 || *got.OverlapSeconds > 0.51 {
			t.Errorf("set by %s: got %+v, want an overlap of 0.5 s", step, got)
		}
	}
}

func TestPodOf(t *testing.T) {
	for identity, want := range map[string]string{"pod-a": "pod-a", "pod-a_1b2c": "pod-a", "": ""} {
		if got := PodOf(identity); got != want {
			t.Errorf("PodOf(%q): got %q, want %q", identity, got, want)
		}
	}
}

func TestPod_HoldsExactly(t *testing.T) {
	pod := Pod{Name: "scheduler-node-1", Hostname: "node-1"}
	for identity, want := range map[string]bool{
		"scheduler-node-1": true, "scheduler-node-1_6f2b": true, "node-1_6f2b": true, "node-1": true,
		"scheduler-node-10": false, "node-10_6f2b": false, "scheduler": false, "": false, "_6f2b": false,
	} {
		if got := pod.Holds(identity); got != want {
			t.Errorf("identity %q: got %t, want %t", identity, got, want)
		}
	}
}
