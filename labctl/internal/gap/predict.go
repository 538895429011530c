// Package gap owns the model of a failover: how long nobody can hold the Lease, from the three durations, what was done,
// and who may take over. It is arithmetic on client-go's protocol; it touches no cluster, clock or network.
package gap

import (
	"fmt"
	"math"
	"time"

	"academy.example/lab/labctl/internal/fault"
	"academy.example/lab/labctl/internal/timeline"
	"academy.example/lab/operator/api"
)

// jitter is client-go's JitterFactor: a standby waits RetryPeriod·(1 + U·1.2) between two polls, U uniform in [0, 1).
const jitter = 1.2

// Silence is how long a holder must be kept from being heard until a standby leads for sure: the longest gap, and two seconds.
func Silence(t api.Timing) time.Duration {
	return t.LeaseDuration + time.Duration(2*LongestPause*float64(t.RetryPeriod)) + 2*time.Second
}

// Latency is how late answers must come so that no renewal succeeds, whatever the client's time-out: later than client-go waits.
func Latency(t api.Timing) time.Duration { return t.RenewDeadline + time.Second }

// LongestPause is the longest pause between two polls of a standby, in RetryPeriods.
const LongestPause = 1 + jitter

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
	// StopSeconds is how long a holder that was asked to stop, and left the Lease held, lived on without renewing. The gap
	// counts from its end, the wait of a standby does not; 0 before it is known.
	StopSeconds float64
	// UniqueIdentity is whether each process has an identity of its own, so that a restarted one is a newcomer.
	UniqueIdentity bool
	// Coordinated is whether the API server elects the holder (KEP-4355), and nobody takes the Lease.
	Coordinated bool
	// Remakes is whether a holder that finds the Lease deleted makes it again and leads on, as plain client-go does.
	Remakes bool
}

// kind is what the mode touches beside the holder's process.
func (in Input) kind() fault.Kind {
	d, _ := fault.Describe(in.Mode)
	return d.Kind
}

// Accepts reports whether a class is one that the mode leads to. After an outage whoever polls first takes the Lease: a
// standby, or the holder's own pod under its old name.
func (in Input) Accepts(class timeline.Class) bool {
	return class == in.Class() || in.kind() == fault.OfServer && class == timeline.SameIdentity
}

// Asks reports whether the holder is asked to stop, which takes it a while, and not ended at once.
func (in Input) Asks() bool {
	d, _ := fault.Describe(in.Mode)
	return d.Releases
}

// Stopped is how many seconds of a standby's wait are no part of the gap, since the old holder's process still ran.
func (in Input) Stopped(class timeline.Class) float64 {
	if class != timeline.Expired || !in.Asks() {
		return 0
	}
	return in.StopSeconds
}

// Transitions is how much leaseTransitions rises, and whether it begins at 0 instead. A plain holder that makes a deleted Lease
// again writes the record that it had.
func (in Input) Transitions(class timeline.Class, winner timeline.Winner) (rise int, fromZero bool) {
	switch {
	case in.Coordinated: // the API server writes the holder, and a holder that renews counts nothing
		return 0, false
	case class == timeline.Deleted && in.Remakes && winner == timeline.Same:
		return 0, false
	case class == timeline.Deleted:
		return 0, true
	case class == timeline.SameIdentity:
		return 0, false
	case class == timeline.Stolen && in.kind() == fault.OfRecord:
		return 2, false // to the thief, and from it
	default:
		return 1, false
	}
}

// Uniform reports whether the distribution holds: in a rollout the candidates are newcomers, whose polls began lately.
func (in Input) Uniform() bool { return in.kind() == "" && !in.Coordinated }

// Class is how the Lease is expected to come to its next holder.
func (in Input) Class() timeline.Class {
	d, _ := fault.Describe(in.Mode)
	switch {
	case d.Kind == fault.OfRecord:
		return timeline.Stolen
	case d.Kind == fault.OfObject:
		return timeline.Deleted
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
	P50Seconds  float64 `json:"p50Seconds"`
	P95Seconds  float64 `json:"p95Seconds"`
	P99Seconds  float64 `json:"p99Seconds"`
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
	d, ok := fault.Describe(in.Mode)
	if !ok {
		return Prediction{}, fmt.Errorf("no model for mode %q", in.Mode)
	}
	class := in.Class()
	if in.Standbys < 1 && in.ReplacementStart <= 0 && class != timeline.SameIdentity && !d.LosesLease() && d.Kind != fault.OfServer {
		return Prediction{}, fmt.Errorf("nobody could take over: no standby and no replacement")
	}
	return PredictClass(in, class), nil
}

// PredictClass is Predict for a class other than the expected one: what the gap should be, given how the Lease changed hands.
func PredictClass(in Input, class timeline.Class) Prediction {
	p := Range(in, class)
	if d := Distribute(in, class, -1); d != nil {
		p.spread(d)
	}
	return p
}

// PredictAged is Predict for a holder that is killed age seconds after its last renewal.
func PredictAged(in Input, age float64) Prediction {
	p := Range(in, timeline.Expired)
	if in.Standbys > 0 {
		p.MinSeconds, p.MaxSeconds = in.Timing.LeaseDuration.Seconds()-age, p.MaxSeconds-age
	}
	if d := Distribute(in, timeline.Expired, age); d != nil {
		p.spread(d)
	}
	return p
}

// spread fills in what the distribution tells.
func (p *Prediction) spread(d *Distribution) {
	p.MeanSeconds, p.P50Seconds, p.P95Seconds, p.P99Seconds = milli(d.Mean()), milli(d.Quantile(0.5)), milli(d.Quantile(0.95)), milli(d.Quantile(0.99))
}

// milli keeps milliseconds: the grid gives no more.
func milli(seconds float64) float64 { return math.Round(seconds*1000) / 1000 }

// Range is PredictClass without the distribution: mean and quantiles are 0 but for a restart in place.
func Range(in Input, class timeline.Class) Prediction {
	if in.Coordinated && class != timeline.SameIdentity {
		return in.elected(class)
	}
	lease, retry := in.Timing.LeaseDuration.Seconds(), in.Timing.RetryPeriod.Seconds()
	if in.kind() == fault.OfServer {
		return Prediction{MinSeconds: 0, MaxSeconds: LongestPause * retry,
			Terms: "counted from the API server's return: the record has expired, and the first poll of any replica takes it, after at most 2.2·RetryPeriod"}
	}
	switch class {
	case timeline.SameIdentity:
		return restart()
	case timeline.Stolen:
		return in.stolen()
	case timeline.Deleted:
		return Prediction{MinSeconds: 0, MaxSeconds: LongestPause * retry,
			Terms: "there is no Lease: a standby makes it at its next poll, after at most 2.2·RetryPeriod, or the holder itself at its next renewal if it is plain client-go"}
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
		if more := in.renewsOnce(); more > 0 {
			p.MinSeconds, p.MaxSeconds = p.MinSeconds+more, p.MaxSeconds+more
			p.Terms = "one more renewal, 0 … RetryPeriod after the fault, which is written though the holder does not learn of it; then " +
				"LeaseDuration + the standby's observation lag and its poll phase (each 0 … 2.2·RetryPeriod)"
		}
		if in.Standbys < 1 {
			p.MinSeconds = in.ReplacementStart + lease
			p.MaxSeconds = in.ReplacementStart + lease + LongestPause*retry
		}
		if stopped := in.Stopped(class); stopped > 0 {
			p.MinSeconds, p.MaxSeconds = milli(p.MinSeconds-stopped), milli(p.MaxSeconds-stopped)
			p.Terms += fmt.Sprintf(" − the %.2f s that the old holder's process lived on without renewing", stopped)
		}
		return p
	}
}

// renewsOnce is by how many seconds the record outlasts that of a holder which is not heard at all: of one whose answers are late
// the next renewal is written still.
func (in Input) renewsOnce() float64 {
	if in.kind() == fault.OfAnswers {
		return in.Timing.RetryPeriod.Seconds()
	}
	return 0
}

// stolen is how long the thief's record lasts. Without a standby the holder's own next process waits for it, which begins after
// RetryPeriod and RenewDeadline at most, and a restart.
func (in Input) stolen() Prediction {
	lease, retry := in.Timing.LeaseDuration.Seconds(), in.Timing.RetryPeriod.Seconds()
	p := Prediction{MinSeconds: lease, MaxSeconds: lease + 2*LongestPause*retry,
		Terms: "LeaseDuration + the standby's observation lag of the thief's record and its poll phase (each 0 … 2.2·RetryPeriod)"}
	if in.Standbys < 1 {
		p.MaxSeconds = retry + in.Timing.RenewDeadline.Seconds() + restart().MaxSeconds + lease + LongestPause*retry
	}
	return p
}

// restart is the restart in place: the embedded node restarts a container a second after its exit, a kubelet when it next
// looks at its containers, which it does every second. The new process finds its own name in the record, which it takes at
// its first try. Mean and p95 (the largest) are measured, not derived: embedded cluster, n = 10, docs/measuring.md; of a
// kubelet docs/providers.md tells.
func restart() Prediction {
	return Prediction{MinSeconds: 0.2, MaxSeconds: 3, MeanSeconds: 1.03, P50Seconds: 1.03, P95Seconds: 1.05, P99Seconds: 1.05,
		Terms: "the node restarts the container, the embedded one after 1 s, a kubelet within about 1 s; the process finds its own name in the record and renews it at once"}
}
