package gap

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"academy.example/lab/labctl/internal/timeline"
	"academy.example/lab/operator/api"
)

// The exact distribution against draws from the protocol itself: 40000 of each cell give a mean to within
// 4 standard errors, and quantiles to within what 40000 draws and the grid allow.
func TestDistribute_AgreesWithDrawsFromTheProtocol(t *testing.T) {
	const n = 40000
	for _, timing := range []api.Timing{api.Default(), api.Fast(), {LeaseDuration: 137 * time.Second, RenewDeadline: 107 * time.Second, RetryPeriod: 26 * time.Second}} {
		for _, standbys := range []int{1, 2, 5} {
			for _, replacement := range []float64{0, 1.3} {
				for _, class := range []timeline.Class{timeline.Released, timeline.Expired} {
					in := Input{Timing: timing, Standbys: standbys, ReplacementStart: replacement}
					d := Distribute(in, class, -1)
					r := rand.New(rand.NewPCG(7, 7))
					values, sum, squares := make([]float64, n), 0.0, 0.0
					for i := range values {
						v := drawExpired(r, in)
						if class == timeline.Released {
							v = drawReleased(r, in)
						}
						values[i] = v
						sum += v
						squares += v * v
					}
					slices.Sort(values)
					mean := sum / n
					margin := 4*math.Sqrt((squares/n-mean*mean)/n) + timing.RetryPeriod.Seconds()/cells
					if math.Abs(d.Mean()-mean) > margin {
						t.Errorf("%s N=%d s=%g %s: mean %.4f, drawn %.4f ± %.4f", timing, standbys, replacement, class, d.Mean(), mean, margin)
					}
					for _, p := range []float64{0.05, 0.5, 0.95, 0.99} {
						// The share of draws below the quantile is p within 4 standard errors, but for the grid and an atom.
						q := d.Quantile(p)
						slack := timing.RetryPeriod.Seconds() / cells
						low := float64(len(below(values, q-slack))) / n
						high := float64(len(below(values, q+slack))) / n
						wide := 4 * math.Sqrt(p*(1-p)/n)
						if low > p+wide || high < p-wide {
							t.Errorf("%s N=%d s=%g %s: p%g is %.4f, but %.4f … %.4f of the draws are below", timing, standbys, replacement, class, 100*p, q, low, high)
						}
					}
				}
			}
		}
	}
}

func below(sorted []float64, x float64) []float64 {
	i, _ := slices.BinarySearch(sorted, x)
	return sorted[:i]
}

// drawReleased and drawExpired follow the protocol poll by poll.
func drawReleased(r *rand.Rand, in Input) float64 {
	retry := in.Timing.RetryPeriod.Seconds()
	var first []float64
	for range in.Standbys {
		first = append(first, residual(r, retry))
	}
	if in.ReplacementStart > 0 {
		first = append(first, in.ReplacementStart)
	}
	return slices.Min(first)
}

func drawExpired(r *rand.Rand, in Input) float64 {
	lease, retry := in.Timing.LeaseDuration.Seconds(), in.Timing.RetryPeriod.Seconds()
	age := r.Float64() * retry
	var first []float64
	for range in.Standbys {
		observed := residual(r, retry)
		first = append(first, pollAfter(r, retry, observed, observed+lease)-age)
	}
	if in.ReplacementStart > 0 {
		first = append(first, pollAfter(r, retry, in.ReplacementStart, in.ReplacementStart+lease))
	}
	return slices.Min(first)
}

// pollAfter follows the polls of a candidate from the one at start to the first at or after due.
func pollAfter(r *rand.Rand, retry, start, due float64) float64 {
	at := start
	for at < due {
		at += wait(r, retry)
	}
	return at
}

func wait(r *rand.Rand, retry float64) float64 { return retry * (1 + jitter*r.Float64()) }

// residual draws the time to the next poll as seen at a random moment: long pauses are met more often than short ones.
func residual(r *rand.Rand, retry float64) float64 {
	for {
		pause := wait(r, retry)
		if r.Float64()*retry*LongestPause < pause {
			return r.Float64() * pause
		}
	}
}

// The published closed forms: mean residual 0.8375·RP; a kill at 15/10/2 with one standby has mean 17.35 s and p95 20.1 s.
func TestDistribute_ClosedForms(t *testing.T) {
	in := Input{Timing: api.Default(), Standbys: 1}
	if got := Distribute(in, timeline.Released, -1).Mean(); math.Abs(got-1.675) > 0.002 {
		t.Errorf("mean after a release: %.4f, want 1.675", got)
	}
	kill := Distribute(in, timeline.Expired, -1)
	if got := kill.Mean(); math.Abs(got-17.35) > 0.02 {
		t.Errorf("mean after a kill: %.4f, want 17.35", got)
	}
	if got := kill.Quantile(0.95); math.Abs(got-20.1) > 0.05 {
		t.Errorf("p95 after a kill: %.4f, want 20.1", got)
	}
}

// A known age of the last renewal moves the whole distribution, and takes RetryPeriod off its width.
func TestDistribute_ConditionalOnTheAge(t *testing.T) {
	in := Input{Timing: api.Default(), Standbys: 1}
	young, old := Distribute(in, timeline.Expired, 0), Distribute(in, timeline.Expired, 2)
	if d := young.Mean() - old.Mean(); math.Abs(d-2) > 0.01 {
		t.Errorf("two seconds of age move the mean by %.4f s", d)
	}
	if young.Survival(14.99) != 1 || old.Survival(12.99) != 1 || old.CDF(17.5+4.4) < 0.999 {
		t.Error("the ranges do not move with the age")
	}
}

func TestKolmogorov(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	low, n := 0, 2000
	for range n {
		values := make([]float64, 40)
		for i := range values {
			values[i] = r.Float64()
		}
		if _, p := Kolmogorov(values); p < 0.05 {
			low++
		}
	}
	// Of true hypotheses one in twenty is below 0.05: 100 of 2000, ± 4 standard errors of 9.7.
	if low < 61 || low > 139 {
		t.Errorf("%d of %d true hypotheses have p < 0.05, want 61 to 139", low, n)
	}
	skewed := make([]float64, 40)
	for i := range skewed {
		skewed[i] = math.Sqrt(r.Float64())
	}
	if _, p := Kolmogorov(skewed); p > 0.05 {
		t.Errorf("a wrong distribution has p = %g at n = 40", p)
	}
}
