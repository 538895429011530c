package cmd

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"academy.example/lab/labctl/internal/fault"
	"academy.example/lab/labctl/internal/report"
	"academy.example/lab/labctl/internal/sim"
	"academy.example/lab/labctl/internal/timeline"
	"academy.example/lab/operator/api"
)

// What a page's virtual time is played with: the same each time, so that a record always gives the same page.
const (
	playedTrials  = 1000
	playedSeed    = 1
	playedLatency = 5 * time.Millisecond
	mostPolls     = 50 // in a LeaseDuration: more would take long, and are of no operator
)

// playAgain plays what a page draws the distribution of, in virtual time: the same timing, election, mode, standbys and
// start of a replacement. What the simulator does not play is left out, as all of an operator whose settings are not known.
func playAgain(ctx context.Context, f report.Failover) ([]report.Simulated, error) {
	if f.Timing.LeaseDuration > mostPolls*f.Timing.RetryPeriod || f.Foreign || f.ReleaseOnCancel == nil || !f.Modelled() || f.Timing.Validate() != nil || !slices.Contains(api.ContendedElections(), string(f.Election)) {
		return nil, nil
	}
	var played []report.Simulated
	for _, s := range report.Spreads(f) {
		batches := batches(f.Header, s)
		if len(batches) == 0 {
			continue
		}
		results, err := sim.Simulate(ctx, batches)
		if err != nil {
			return nil, err
		}
		one := report.Simulated{Mode: s.Mode, Class: s.Class, With: fmt.Sprintf("requests of %s, seed %d", playedLatency, playedSeed)}
		for _, r := range slices.Concat(results...) {
			if class := classOf(r); r.TookOver && class == s.Class {
				one.Gaps = append(one.Gaps, r.LockGap.Seconds())
			}
		}
		slices.Sort(one.Gaps)
		played = append(played, one)
	}
	return played, nil
}

// classOf is the class of a simulated failover.
func classOf(r sim.Result) timeline.Class {
	if r.Released {
		return timeline.Released
	}
	return timeline.Expired
}

// batches are one scenario for each number of standbys that trials had, as often as they had it; none if the mode is not
// played, or if some trial had nobody to take over.
func batches(h report.Header, s report.Spread) []sim.Batch {
	var all []sim.Batch
	counts := s.Standbys()
	total := 0
	for _, n := range counts {
		total += n
	}
	mode := fault.Mode(s.Mode)
	if mode == fault.ForceDelete || mode == fault.Evict {
		mode = fault.Graceful // the process is asked to stop, and a pod is made in its place
	}
	does, known := playable(mode, h.Timing)
	for _, standbys := range slices.Sorted(maps.Keys(counts)) {
		in := h.Input(fault.Mode(s.Mode), standbys)
		if !known || standbys < 1 || standbys > maxReplicas {
			return nil
		}
		all = append(all, sim.Batch{N: max(1, playedTrials*counts[standbys]/total), Seed: playedSeed, Scenario: sim.Scenario{Timing: h.Timing, Election: string(h.Election), Guards: api.AllGuards(),
			ReleaseOnCancel: *h.ReleaseOnCancel, Standbys: standbys, Latency: playedLatency, Fault: does, Replacement: time.Duration(in.ReplacementStart * float64(time.Second))}})
	}
	return all
}
