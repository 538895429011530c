package sim

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"academy.example/lab/labctl/internal/timeline"
	"academy.example/lab/operator/api"
)

// recordings are the faults that a trial can be recorded of, as `labctl simulate` plays them.
func recordings() map[string]struct {
	fault Fault
	words timeline.Fault
} {
	type recording = struct {
		fault Fault
		words timeline.Fault
	}
	return map[string]recording{
		"kill":          {Fault{Kind: Kill}, timeline.Fault{Mode: "kill"}},
		"graceful":      {Fault{Kind: Stop}, timeline.Fault{Mode: "graceful"}},
		"freeze":        {Fault{Kind: Freeze, For: 26 * time.Second}, timeline.Fault{Mode: "freeze", Silences: true}},
		"cut-refuse":    {Fault{Kind: Cut, Refuse: true}, timeline.Fault{Mode: "cut-refuse", Silences: true}},
		"cut-blackhole": {Fault{Kind: Cut}, timeline.Fault{Mode: "cut-blackhole", Silences: true}},
	}
}

// one plays one trial of a seed, recorded or not, in a process of its own, where nothing else draws.
func one(t *testing.T, b Batch) []Result {
	t.Helper()
	results, err := Simulate(t.Context(), []Batch{b})
	if err != nil {
		t.Fatal(err)
	}
	return results[0]
}

// A trial that is recorded is the same trial, and what is measured from its record is what the simulator saw. A leader that
// can't renew tries once more at its RenewDeadline, or does not: with 5·RetryPeriod = RenewDeadline two timers end at one
// instant. So of the modes that cut it off the figures are the same each time, and the lines of its log need not be.
func TestRecord_IsTheSameTrial(t *testing.T) {
	const n, seed = 3, 40
	for name, r := range recordings() {
		for _, election := range api.ContendedElections() {
			s := base(election, func(s *Scenario) { s.Fault, s.Standbys = r.fault, 2 })
			for i, want := range one(t, Batch{Scenario: s, N: n, Seed: seed}) {
				alone := Batch{Scenario: s, N: 1, Seed: seed + uint64(i), Record: &r.words}
				got, again := one(t, alone)[0], one(t, alone)[0]
				if exact := name == "kill" || name == "graceful"; exact && text(t, got.Events) != text(t, again.Events) {
					t.Errorf("%s, %s, trial %d: one seed gave two records", name, election, i+1)
				}
				trials := timeline.Trials(got.Events)
				got.Events = nil
				if text(t, got) != text(t, want) {
					t.Errorf("%s, %s, trial %d: recorded it is %+v, want %+v", name, election, i+1, got, want)
				}
				if len(trials) != 1 || trials[0].Void != "" {
					t.Fatalf("%s, %s, trial %d: got %+v, want one trial that counts", name, election, i+1, trials)
				}
				agrees(t, name+", "+election, trials[0], want)
			}
		}
	}
}

// agrees holds what was measured from the record against what the simulator saw.
func agrees(t *testing.T, name string, got timeline.Trial, want Result) {
	t.Helper()
	near := func(seconds *float64, d time.Duration, tolerance float64) bool {
		return seconds != nil && math.Abs(*seconds-d.Seconds()) <= tolerance
	}
	class := timeline.Expired
	if want.Released {
		class = timeline.Released
	}
	// The work is recorded at its ticks, so an overlap is seen to within one at either end.
	ticks := 2 * api.WorkTick.Seconds()
	if got.Class != class || !near(got.GapSeconds, want.Gap, 2e-6) || !near(got.LockGapSeconds, want.LockGap, 2e-6) || !near(got.OverlapSeconds, want.Overlap, ticks) || got.Standbys != 2 {
		t.Errorf("%s: got %s, gap %v, lock gap %v, overlap %v; want %s, %s, %s, %s", name, got.Class, value(got.GapSeconds), value(got.LockGapSeconds), value(got.OverlapSeconds),
			class, want.Gap, want.LockGap, want.Overlap)
	}
	if got.Terms == nil || math.Abs(got.Terms.ResidualSeconds) > 0.02 {
		t.Errorf("%s: the terms are %+v, want them to add up to the gap within the requests' 20 ms", name, got.Terms)
	}
}

func value(v *float64) any {
	if v == nil {
		return nil
	}
	return *v
}

func text(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// recorded plays one trial and returns its record.
func recorded(t *testing.T, s Scenario) []timeline.Event {
	t.Helper()
	return one(t, Batch{Scenario: s, N: 1, Seed: 7, Record: &timeline.Fault{Mode: "kill"}})[0].Events
}

// The record is one that the reader of records takes, and a killed process says nothing after its end.
func TestRecord_IsSoundAndTheDeadAreSilent(t *testing.T) {
	events := recorded(t, base(api.ElectionPlain, func(s *Scenario) { s.Fault = Fault{Kind: Kill} }))
	var file strings.Builder
	w := timeline.NewWriter(&file)
	for _, e := range events {
		if err := w.Append(e); err != nil {
			t.Fatal(err)
		}
	}
	read, err := timeline.Read(strings.NewReader(file.String()))
	if err != nil || len(read) != len(events) {
		t.Fatalf("got %d of %d events, %v", len(read), len(events), err)
	}
	gone := slices.IndexFunc(events, func(e timeline.Event) bool { return e.Kind == timeline.ProcessGone })
	if gone < 0 || events[gone].Process.ExitCode != exitKilled {
		t.Fatal("nobody was killed")
	}
	for _, e := range events[gone:] {
		if e.Log != nil && e.Kind == timeline.LogLine && e.Log.Pod == events[gone].Process.Pod || e.Work != nil && e.Work.Holder == events[gone].Process.Pod {
			t.Errorf("%.3f s after its end it says %+v %+v", e.Seconds-events[gone].Seconds, e.Log, e.Work)
		}
	}
	if last := events[len(events)-1]; last.Kind != timeline.RunEnded {
		t.Errorf("the record ends with %s", last.Kind)
	}
}
