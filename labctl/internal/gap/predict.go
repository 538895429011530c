// Package gap owns the model of a failover: how long nobody can hold the Lease, from the three durations, what was done,
// and who may take over. It is arithmetic on client-go's protocol; it touches no cluster, clock or network.
package gap

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"academy.example/lab/labctl/internal/fault"
	"academy.example/lab/labctl/internal/timeline"
	"academy.example/lab/operator/api"
)

// jitter is client-go's JitterFactor: a standby waits RetryPeriod·(1 + U·1.2) between two polls, U uniform in [0, 1).
const jitter = 1.2

// LongestPause is the longest pause between two polls of a standby, in RetryPeriods.
const LongestPause = 1 + jitter

// samples and seed make the mean and the quantiles reproducible to about 0.02 s.
const (
	samples = 20000
	seed    = 1
)

// Input is what a prediction depends on.
type Input struct {
	Timing api.Timing
	Mode   fault.Mode
	// Standbys is the number of candidates that poll when the fault happens.
	Standbys int
	// ReplacementStart is when a replacement pod, or a restarted container, first polls, in seconds after the fault;
	// 0 or less: there is none.
	ReplacementStart float64
	// KeepsLease is whether the holder leaves the Lease held although it is asked to stop: ReleaseOnCancel is off.
	KeepsLease bool
	// UniqueIdentity is whether each process has an identity of its own, so that a restarted one is a newcomer.
	UniqueIdentity bool
}

// Class is how the Lease is expected to come to its next holder.
func (in Input) Class() timeline.Class {
	d, _ := fault.Describe(in.Mode)
	switch {
	case in.Mode == fault.Crash && !in.UniqueIdentity:
		return timeline.SameIdentity
	case d.Releases && !in.KeepsLease:
		return timeline.Released
	default:
		return timeline.Expired
	}
}

// Prediction is the lock gap that the protocol gives, in seconds. Figures are without API latency.
type Prediction struct {
	MinSeconds  float64 `json:"minSeconds"`
	MaxSeconds  float64 `json:"maxSeconds"`
	MeanSeconds float64 `json:"meanSeconds"`
	P95Seconds  float64 `json:"p95Seconds"`
	// Terms explains the range in words.
	Terms string `json:"terms"`
}

// Tolerances that a measurement is allowed outside of the predicted range: requests and the arrival of watch events.
const (
	EarlySeconds = 0.1
	LateSeconds  = 0.5
)

// Holds reports whether a measured lock gap lies in the band: the range and its tolerances.
func (p Prediction) Holds(seconds float64) bool {
	return seconds >= p.MinSeconds-EarlySeconds && seconds <= p.MaxSeconds+LateSeconds
}

// Predict returns the range and the distribution of the lock gap.
// For a crash with identity = pod name it is the time until the same pod's next process holds its own Lease again.
func Predict(in Input) (Prediction, error) {
	if _, ok := fault.Describe(in.Mode); !ok {
		return Prediction{}, fmt.Errorf("no model for mode %q", in.Mode)
	}
	class := in.Class()
	if in.Standbys < 1 && in.ReplacementStart <= 0 && class != timeline.SameIdentity {
		return Prediction{}, fmt.Errorf("nobody could take over: no standby and no replacement")
	}
	return PredictClass(in, class), nil
}

// PredictClass is Predict for a class other than the expected one: what the gap should be, given how the Lease changed hands.
func PredictClass(in Input, class timeline.Class) Prediction {
	lease, retry := in.Timing.LeaseDuration.Seconds(), in.Timing.RetryPeriod.Seconds()
	p := Range(in, class)
	switch class {
	case timeline.SameIdentity:
	case timeline.Released:
		p.sample(func(r *rand.Rand) float64 { return released(r, retry, in) })
	default:
		p.sample(func(r *rand.Rand) float64 { return expired(r, lease, retry, in) })
	}
	return p
}

// Range is PredictClass without what has to be sampled: mean and p95 are 0 but for a restart in place.
func Range(in Input, class timeline.Class) Prediction {
	lease, retry := in.Timing.LeaseDuration.Seconds(), in.Timing.RetryPeriod.Seconds()
	switch class {
	case timeline.SameIdentity:
		return restart()
	case timeline.Released:
		p := Prediction{MinSeconds: 0, MaxSeconds: LongestPause * retry,
			Terms: "the Lease is free at once; a standby polls every RetryPeriod·(1 … 2.2)"}
		if in.Standbys < 1 {
			p.MaxSeconds = in.ReplacementStart
		}
		return p
	default:
		p := Prediction{MinSeconds: lease - retry, MaxSeconds: lease + 2*LongestPause*retry,
			Terms: "LeaseDuration − age of the last renewal (0 … RetryPeriod) + the standby's observation lag and its poll phase (each 0 … 2.2·RetryPeriod)"}
		if in.Standbys < 1 {
			p.MinSeconds = in.ReplacementStart + lease
			p.MaxSeconds = in.ReplacementStart + lease + LongestPause*retry
		}
		return p
	}
}

// restart is the restart in place: a node restarts a container not sooner than a second after its exit, and the new
// process finds its own name in the record, which it takes at its first try. The range leaves room for a kubelet's relist;
// mean and p95 (the largest) are measured, not derived: embedded cluster, n = 10, docs/measuring.md.
func restart() Prediction {
	return Prediction{MinSeconds: 1, MaxSeconds: 3, MeanSeconds: 1.03, P95Seconds: 1.05,
		Terms: "the node restarts the container after 1 s or more; the process finds its own name in the record and renews it at once"}
}

func (p *Prediction) sample(draw func(*rand.Rand) float64) {
	r := rand.New(rand.NewPCG(seed, seed))
	values := make([]float64, samples)
	sum := 0.0
	for i := range values {
		values[i] = draw(r)
		sum += values[i]
	}
	slices.Sort(values)
	p.MeanSeconds, p.P95Seconds = sum/samples, values[samples*95/100]
}

// released draws the first poll of any candidate after the Lease is free.
func released(r *rand.Rand, retry float64, in Input) float64 {
	var first []float64
	for range in.Standbys {
		first = append(first, residual(r, retry))
	}
	if in.ReplacementStart > 0 {
		first = append(first, in.ReplacementStart)
	}
	return slices.Min(first)
}

// expired draws the first poll of any candidate that has seen the record unchanged for LeaseDuration, counted from the kill.
func expired(r *rand.Rand, lease, retry float64, in Input) float64 {
	age := r.Float64() * retry // of the last renewal at the kill
	var first []float64
	for range in.Standbys {
		observed := residual(r, retry) // first poll after the last renewal
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

// wait draws one pause between two polls.
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
