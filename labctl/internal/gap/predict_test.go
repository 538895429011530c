package gap

import (
	"math"
	"testing"

	"academy.example/lab/labctl/internal/fault"
	"academy.example/lab/operator/api"
)

// The figures are those of the protocol's mathematics, confirmed with the real elector in virtual time:
// 15/10/2 with one standby: crash 13.0 … 23.8 s, mean 17.4, p95 20.1; released 0 … 4.4 s, mean 1.69, p95 3.54.
func TestPredict_KnownFigures(t *testing.T) {
	for _, c := range []struct {
		name                string
		in                  Input
		min, max, mean, p95 float64
	}{
		{"kill 15/10/2", Input{Timing: api.Default(), Mode: fault.Kill, Standbys: 1}, 13, 23.8, 17.37, 20.1},
		{"kill 15/10/2, two standbys", Input{Timing: api.Default(), Mode: fault.Kill, Standbys: 2}, 13, 23.8, 16.5, 18.7},
		{"kill 5/3/1", Input{Timing: api.Fast(), Mode: fault.Kill, Standbys: 1}, 4, 9.4, 6.18, 7.55},
		{"graceful 15/10/2", Input{Timing: api.Default(), Mode: fault.Graceful, Standbys: 1}, 0, 4.4, 1.69, 3.54},
		{"force-delete 5/3/1", Input{Timing: api.Fast(), Mode: fault.ForceDelete, Standbys: 1}, 0, 2.2, 0.85, 1.78},
		{"graceful, only a replacement", Input{Timing: api.Default(), Mode: fault.Graceful, ReplacementStart: 1.5}, 0, 1.5, 1.5, 1.5},
		{"kill, only a replacement", Input{Timing: api.Default(), Mode: fault.Kill, ReplacementStart: 1.5}, 16.5, 20.9, 18.2, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := Predict(c.in)
			if err != nil {
				t.Fatal(err)
			}
			// 0.08 s: the standard error of the mean of 20,000 draws is 0.011 s, the published figures are rounded to 0.05.
			for _, f := range []struct {
				what      string
				got, want float64
			}{{"min", p.MinSeconds, c.min}, {"max", p.MaxSeconds, c.max}, {"mean", p.MeanSeconds, c.mean}, {"p95", p.P95Seconds, c.p95}} {
				if f.want == 0 && f.what == "p95" {
					continue // no independent figure is known
				}
				if math.Abs(f.got-f.want) > 0.08 {
					t.Errorf("%s: got %.3f s, want %.3f s", f.what, f.got, f.want)
				}
			}
		})
	}
}

func TestPredict_ReplacementShortensTheMean(t *testing.T) {
	alone, _ := Predict(Input{Timing: api.Default(), Mode: fault.Graceful, Standbys: 1})
	joined, _ := Predict(Input{Timing: api.Default(), Mode: fault.Graceful, Standbys: 1, ReplacementStart: 1.4})
	if joined.MeanSeconds >= alone.MeanSeconds || joined.P95Seconds > 1.4+1e-9 {
		t.Errorf("with a replacement that polls at 1.4 s: got mean %.2f p95 %.2f, want less than %.2f and at most 1.40",
			joined.MeanSeconds, joined.P95Seconds, alone.MeanSeconds)
	}
}

func TestPredict_NobodyLeft(t *testing.T) {
	if _, err := Predict(Input{Timing: api.Default(), Mode: fault.Kill}); err == nil {
		t.Error("got a prediction for no standby and no replacement, want an error")
	}
}

func TestPrediction_Holds(t *testing.T) {
	p := Prediction{MinSeconds: 4, MaxSeconds: 9.4}
	for seconds, want := range map[float64]bool{3.89: false, 3.91: true, 6: true, 9.89: true, 9.91: false} {
		if got := p.Holds(seconds); got != want {
			t.Errorf("Holds(%v): got %v, want %v", seconds, got, want)
		}
	}
}
