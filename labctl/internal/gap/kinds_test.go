package gap

import (
	"testing"

	"academy.example/lab/labctl/internal/fault"
	"academy.example/lab/labctl/internal/timeline"
	"academy.example/lab/operator/api"
)

func TestPredict_WhatTouchesMoreThanTheHolder(t *testing.T) {
	for mode, want := range map[fault.Mode]struct {
		class    timeline.Class
		min, max float64
	}{
		fault.Steal:       {timeline.Stolen, 15, 23.8},
		fault.DeleteLease: {timeline.Deleted, 0, 4.4},
		fault.APIDown:     {timeline.Expired, 0, 4.4},
		fault.Rollout:     {timeline.Released, 0, 4.4},
		fault.Deny:        {timeline.Expired, 13, 23.8},
		fault.Slow:        {timeline.Expired, 15, 25.8},
	} {
		in := Input{Timing: api.Default(), Mode: mode, Standbys: 1}
		p, err := Predict(in)
		if err != nil || in.Class() != want.class || !near(p.MinSeconds, want.min) || !near(p.MaxSeconds, want.max) {
			t.Errorf("%s: got %s, %.2f … %.2f, %v; want %s, %.1f … %.1f", mode, in.Class(), p.MinSeconds, p.MaxSeconds, err, want.class, want.min, want.max)
		}
		if p.MeanSeconds <= p.MinSeconds || p.MeanSeconds >= p.MaxSeconds || p.P50Seconds > p.P99Seconds {
			t.Errorf("%s: mean %.2f, p50 %.2f, p99 %.2f", mode, p.MeanSeconds, p.P50Seconds, p.P99Seconds)
		}
		if len(Explain(in, in.Class())) == 0 {
			t.Errorf("%s has no terms", mode)
		}
	}
}

func near(a, b float64) bool { return a > b-0.001 && a < b+0.001 }

// A plain holder makes a deleted Lease again itself, at its next renewal.
func TestPredict_ADeletionIsMendedByAPlainHolder(t *testing.T) {
	in := Input{Timing: api.Default(), Mode: fault.DeleteLease, Standbys: 1}
	guarded := PredictClass(in, timeline.Deleted)
	in.Remakes = true
	plain := PredictClass(in, timeline.Deleted)
	if plain.MeanSeconds >= guarded.MeanSeconds || plain.P99Seconds > 2 {
		t.Errorf("plain %+v, guarded %+v", plain, guarded)
	}
}

func TestInput_AcceptsAndCounts(t *testing.T) {
	outage := Input{Timing: api.Default(), Mode: fault.APIDown, Standbys: 1}
	if !outage.Accepts(timeline.Expired) || !outage.Accepts(timeline.SameIdentity) || outage.Accepts(timeline.Released) {
		t.Error("after an outage a standby or the holder's own pod takes the Lease, and nobody releases")
	}
	steal := Input{Timing: api.Default(), Mode: fault.Steal, Standbys: 1}
	if rise, zero := steal.Transitions(timeline.Stolen, timeline.Standby); rise != 2 || zero {
		t.Errorf("a theft: %d, %t; want two transitions", rise, zero)
	}
	kill := Input{Timing: api.Default(), Mode: fault.Kill, Standbys: 1}
	if rise, _ := kill.Transitions(timeline.Stolen, timeline.Standby); rise != 1 {
		t.Errorf("a theft that was none of the lab's: %d, want 1", rise)
	}
	deleted := Input{Timing: api.Default(), Mode: fault.DeleteLease, Standbys: 1, Remakes: true}
	if _, zero := deleted.Transitions(timeline.Deleted, timeline.Standby); !zero {
		t.Error("a standby that makes the Lease begins at 0")
	}
	if rise, zero := deleted.Transitions(timeline.Deleted, timeline.Same); rise != 0 || zero {
		t.Error("a plain holder that makes the Lease again keeps its count")
	}
	if alone, err := Predict(Input{Timing: api.Default(), Mode: fault.Steal}); err != nil || alone.MaxSeconds < 27 {
		t.Errorf("without a standby the holder's next process waits: %+v, %v", alone, err)
	}
}

// A renewal that is written though its answer is late begins the wait anew: all of it is a RetryPeriod longer than after a kill.
func TestPredict_SlowIsAKillARetryPeriodLater(t *testing.T) {
	kill, slow := Input{Timing: api.Default(), Mode: fault.Kill, Standbys: 1}, Input{Timing: api.Default(), Mode: fault.Slow, Standbys: 1}
	of, than := PredictClass(slow, timeline.Expired), PredictClass(kill, timeline.Expired)
	for name, pair := range map[string][2]float64{"min": {of.MinSeconds, than.MinSeconds}, "mean": {of.MeanSeconds, than.MeanSeconds},
		"p95": {of.P95Seconds, than.P95Seconds}, "max": {of.MaxSeconds, than.MaxSeconds}} {
		if !near(pair[0], pair[1]+2) {
			t.Errorf("%s: %.3f s, want 2 s more than %.3f s", name, pair[0], pair[1])
		}
	}
	sum := 0.0
	for _, term := range Explain(slow, timeline.Expired) {
		sum += term.MeanSeconds
	}
	if sum < of.MeanSeconds-0.01 || sum > of.MeanSeconds+0.01 {
		t.Errorf("the terms give %.3f s, the prediction %.3f s", sum, of.MeanSeconds)
	}
}
