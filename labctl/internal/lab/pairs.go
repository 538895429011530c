package lab

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"academy.example/lab/labctl/internal/check"
	"academy.example/lab/labctl/internal/fault"
	"academy.example/lab/labctl/internal/gap"
	"academy.example/lab/labctl/internal/timeline"
	"academy.example/lab/operator/api"
	"academy.example/lab/operator/lease/pairs"
)

// PairOptions says which pairs are measured.
type PairOptions struct {
	Pairs int
	// Mode is Kill or Graceful.
	Mode fault.Mode
	// Timing is what the pairs run with, and Claimed what the model is told.
	Timing, Claimed api.Timing
	Seed            uint64
	// Shards is in how many pods of a Job the candidates run, of the operator's own image; 0: in this process.
	Shards int
}

// PairResult is what the pairs showed, and what the model says of it.
type PairResult struct {
	Trials    []timeline.Trial
	Sample    gap.Sample
	Predicted gap.Prediction
	Checks    []check.Check
	Verdict   check.Verdict
}

// slowShare is the share of RetryPeriod that a request may take before it distorts a trial.
const slowShare = 0.25

// Pairs measures many real candidates of client-go at once, on Leases of their own beside the operator's.
func (l *Lab) Pairs(ctx context.Context, o PairOptions) (result PairResult, err error) {
	if err := pairs.Sweep(ctx, l.config, l.Deployment.Namespace); err != nil {
		return result, fmt.Errorf("remove what an earlier run left: %w", err)
	}
	defer func() {
		removing, cancel := context.WithTimeout(context.WithoutCancel(ctx), sweepLimit)
		defer cancel()
		err = errors.Join(err, pairs.Sweep(removing, l.config, l.Deployment.Namespace))
	}()
	l.Say(fmt.Sprintf("%d pairs of candidates, each with a Lease and a connection of its own; this takes about %.0f s", o.Pairs, pairSeconds(o)))
	measure := l.pairsHere
	if o.Shards > 0 {
		measure = l.pairsInJob
	}
	measured, err := measure(ctx, o)
	if err != nil {
		return result, err
	}
	return judgePairs(o, measured), nil
}

// sweepLimit bounds the removal of what a run made.
const sweepLimit = 20 * time.Second

// pairsHere measures in this process.
func (l *Lab) pairsHere(ctx context.Context, o PairOptions) ([]pairs.Trial, error) {
	var ended atomic.Int64
	return pairs.Run(ctx, pairs.Config{REST: l.config, Namespace: l.Deployment.Namespace, Timing: o.Timing, Release: o.Mode == fault.Graceful,
		Pairs: o.Pairs, Seed: o.Seed, Done: func(pairs.Trial) {
			if n := int(ended.Add(1)); n%max(1, o.Pairs/4) == 0 && ctx.Err() == nil { // an interrupt ends them all, unmeasured
				l.Say(fmt.Sprintf("%d of %d pairs measured", n, o.Pairs))
			}
		}})
}

// judgePairs holds what was measured against the model.
func judgePairs(o PairOptions, measured []pairs.Trial) (result PairResult) {
	in := gap.Input{Timing: o.Claimed, Mode: o.Mode, Standbys: 1}
	var cases []check.Case
	var gaps []float64
	for _, m := range measured {
		t := trialOf(m, o, in)
		if t.Void == "" {
			gaps = append(gaps, *t.LockGapSeconds)
		}
		result.Trials = append(result.Trials, t)
		cases = append(cases, check.Case{Trial: t, Input: in})
	}
	result.Sample, result.Predicted = gap.Sum(gaps), gap.PredictClass(in, in.Class())
	result.Checks = check.Only(cases, check.Undisturbed, check.Configuration, check.GapInBand, check.Distribution)
	result.Verdict = check.Overall(result.Checks)
	return result
}

// pairSeconds is how long a run takes, as the model has it.
func pairSeconds(o PairOptions) float64 {
	retry := o.Timing.RetryPeriod.Seconds()
	p := gap.Range(gap.Input{Timing: o.Timing, Mode: o.Mode, Standbys: 1}, gap.Input{Timing: o.Timing, Mode: o.Mode, Standbys: 1}.Class())
	return 10*retry + p.MaxSeconds
}

// trialOf puts a pair's trial in the words of a record. What distorted it voids it: that is told, not averaged in.
func trialOf(m pairs.Trial, o PairOptions, in gap.Input) timeline.Trial {
	t := timeline.Trial{Mode: string(o.Mode), Class: in.Class(), Winner: timeline.Standby, PhaseSeconds: m.PhaseSeconds, Standbys: 1, WallT0: m.WallT0,
		LeaseDurationSeconds: m.LeaseSeconds}
	if m.RenewEverySeconds > 0 {
		t.RenewEverySeconds = &m.RenewEverySeconds
	}
	switch slow := slowShare * o.Timing.RetryPeriod.Seconds(); {
	case m.Failed != "":
		t.Class, t.Winner, t.Void = timeline.Unknown, "", m.Failed
	case m.Refused > 0:
		t.Void = fmt.Sprintf("the API server refused %d of its requests as too many", m.Refused)
	case m.SlowestSeconds > slow:
		t.Void = fmt.Sprintf("a request took %.2f s, more than a quarter of RetryPeriod", m.SlowestSeconds)
	default:
		t.LockGapSeconds = &m.GapSeconds
	}
	return t
}
