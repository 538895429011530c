package gap

import (
	"testing"
	"time"

	"academy.example/lab/labctl/internal/fault"
	"academy.example/lab/labctl/internal/timeline"
	"academy.example/lab/operator/api"
)

// docs/coordinated.md derives these.
func TestElected_Ranges(t *testing.T) {
	for _, c := range []struct {
		timing   api.Timing
		mode     fault.Mode
		class    timeline.Class
		min, max float64
	}{
		{api.Default(), fault.Kill, timeline.Expired, 13, 25},
		{api.Default(), fault.Graceful, timeline.Released, 0, 15},
		{api.Default(), fault.Crash, timeline.SameIdentity, 0.2, 3},
		{api.Fast(), fault.Kill, timeline.Expired, 4, 15},
		{api.Fast(), fault.Upgrade, timeline.Released, 0, 15},
		{api.Timing{LeaseDuration: 3 * time.Second, RenewDeadline: 2 * time.Second, RetryPeriod: 400 * time.Millisecond}, fault.Kill, timeline.Expired, 2.6, 15},
	} {
		in := Input{Timing: c.timing, Mode: c.mode, Standbys: 1, ReplacementStart: 1.4, Coordinated: true}
		p, err := Predict(in)
		if err != nil || in.Class() != c.class || !near(p.MinSeconds, c.min) || !near(p.MaxSeconds, c.max) {
			t.Errorf("%s at %s: got %s, %.2f … %.2f, %v; want %s, %.1f … %.1f", c.mode, c.timing, in.Class(), p.MinSeconds, p.MaxSeconds, err, c.class, c.min, c.max)
		}
		if rise, zero := in.Transitions(c.class, timeline.Standby); rise != 0 || zero {
			t.Errorf("%s: transitions rise by %d", c.mode, rise)
		}
		if in.Uniform() || c.class != timeline.SameIdentity && p.MeanSeconds != 0 {
			t.Errorf("%s: a distribution was made up: mean %.2f", c.mode, p.MeanSeconds)
		}
	}
	in := Input{Timing: api.Default(), Mode: fault.Kill, Standbys: 1, Coordinated: true}
	if p := PredictAged(in, 1); p.MeanSeconds != 0 || p.MaxSeconds != 24 {
		t.Errorf("of a known age: got %+v", p)
	}
}

func TestElects_NamesTheModesWithoutAModel(t *testing.T) {
	for _, d := range fault.Modes() {
		if err := Elects(d.Mode); (err != nil) != !d.Replaces() {
			t.Errorf("%s: got %v", d.Mode, err)
		}
	}
}

// The next old replica must not go before the Lease of the first one has a holder that leads.
func TestPace_OutlastsTheLongestHandOver(t *testing.T) {
	for _, timing := range []api.Timing{api.Default(), api.Fast()} {
		for _, coordinated := range []bool{false, true} {
			in := Input{Timing: timing, Mode: fault.Upgrade, Standbys: 1, Coordinated: coordinated}
			if pace, longest := Pace(in), Range(in, timeline.Released).MaxSeconds+LongestPause*timing.RetryPeriod.Seconds(); pace.Seconds() <= longest || pace.Seconds() > longest+5 {
				t.Errorf("%s, coordinated %t: pace %s, longest hand-over %.1f s", timing, coordinated, pace, longest)
			}
		}
	}
}
