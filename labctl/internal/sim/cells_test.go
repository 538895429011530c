package sim

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"academy.example/lab/labctl/internal/fault"
	"academy.example/lab/labctl/internal/gap"
	"academy.example/lab/operator/api"
)

// cell is one configuration whose simulated lock gaps are held against the model.
type cell struct {
	election string
	timing   api.Timing
	standbys int
	kind     Kind
	n        int
}

func (c cell) String() string {
	return fmt.Sprintf("%s, %s, %s, %d standbys", c.election, c.timing, c.kind, c.standbys)
}

func (c cell) scenario() Scenario {
	return base(c.election, func(s *Scenario) { s.Timing, s.Standbys, s.Fault = c.timing, c.standbys, Fault{Kind: c.kind} })
}

// predicted is the model of the cell, which leaves requests out.
func (c cell) predicted() gap.Prediction {
	in := gap.Input{Timing: c.timing, Mode: fault.Kill, Standbys: c.standbys}
	if c.kind == Stop {
		in.Mode = fault.Graceful
	}
	return gap.PredictClass(in, in.Class())
}

// cells are client-go's elector at 15/10/2 and 5/3/1 with one, two and five standbys, killed and asked to stop; and the guarded
// election, more briefly.
func cells() (all []cell) {
	for _, timing := range []api.Timing{api.Default(), api.Fast()} {
		for _, kind := range []Kind{Kill, Stop} {
			for _, standbys := range []int{1, 2, 5} {
				all = append(all, cell{api.ElectionPlain, timing, standbys, kind, 3000})
			}
			all = append(all, cell{api.ElectionGuarded, timing, 1, kind, 1000})
		}
	}
	return all
}

// played plays each cell with a fixed seed, the cells shared among the processors. The results are the same each time.
func played(t *testing.T, all []cell) [][]Result {
	t.Helper()
	results := make([][]Result, len(all))
	next := make(chan int)
	var playing sync.WaitGroup
	for range runtime.NumCPU() {
		playing.Go(func() {
			for i := range next {
				got, err := Simulate(t.Context(), []Batch{{Scenario: all[i].scenario(), N: all[i].n, Seed: 1}})
				if err != nil {
					t.Error(err)
					continue
				}
				results[i] = got[0]
			}
		})
	}
	for i := range all {
		next <- i
	}
	close(next)
	playing.Wait()
	return results
}

// With requests of δ the means of the real elections agree with the exact distribution within 4 standard errors and 3 δ, and
// each gap lies in its range.
func TestGaps_AreThoseOfTheModel(t *testing.T) {
	if testing.Short() {
		t.Skip("plays 40,000 trials")
	}
	all := cells()
	for i, results := range played(t, all) {
		c, p, late := all[i], all[i].predicted(), 3*base("", nil).Latency.Seconds()
		var gaps []float64
		for _, r := range results {
			if r.TookOver && r.Overlap == 0 && r.Released == (c.kind == Stop) {
				gaps = append(gaps, r.LockGap.Seconds())
			}
		}
		if len(gaps) != c.n {
			t.Errorf("%s: got %d hand-overs as they should be, want %d", c, len(gaps), c.n)
			continue
		}
		mean, standardError := meanOf(gaps)
		if math.Abs(mean-p.MeanSeconds) > 4*standardError+late {
			t.Errorf("%s: got a mean of %.3f s, want %.3f ± %.3f s", c, mean, p.MeanSeconds, 4*standardError+late)
		}
		if least, most := slices.Min(gaps), slices.Max(gaps); least < p.MinSeconds || most > p.MaxSeconds+late {
			t.Errorf("%s: got gaps of %.3f … %.3f s, want %.1f … %.1f s", c, least, most, p.MinSeconds, p.MaxSeconds)
		}
		t.Logf("%s: mean %.3f s, predicted %.3f s, standard error %.3f s", c, mean, p.MeanSeconds, standardError)
	}
}

func meanOf(values []float64) (mean, standardError float64) {
	n, squares := float64(len(values)), 0.0
	for _, v := range values {
		mean += v / n
	}
	for _, v := range values {
		squares += (v - mean) * (v - mean)
	}
	return mean, math.Sqrt(squares / (n - 1) / n)
}

// A newcomer that starts s after the fault takes a released Lease at s, unless the standby polls sooner; after a kill the
// model says what it does to the mean.
func TestReplacement_TakesPartAsTheModelSays(t *testing.T) {
	t.Parallel()
	const start = 1350 * time.Millisecond
	for kind, mode := range map[Kind]fault.Mode{Kill: fault.Kill, Stop: fault.Graceful} {
		results := Run(t, base(api.ElectionPlain, func(s *Scenario) { s.Fault, s.Replacement = Fault{Kind: kind}, start }), 1000, 1)
		var gaps []float64
		for _, r := range results {
			gaps = append(gaps, r.LockGap.Seconds())
		}
		in := gap.Input{Timing: api.Default(), Mode: mode, Standbys: 1, ReplacementStart: start.Seconds()}
		mean, standardError := meanOf(gaps)
		if want := gap.PredictClass(in, in.Class()).MeanSeconds; math.Abs(mean-want) > 4*standardError+0.015 {
			t.Errorf("%s: got a mean of %.3f s, want %.3f ± %.3f s", kind, mean, want, 4*standardError+0.015)
		}
	}
}
