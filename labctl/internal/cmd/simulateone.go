package cmd

import (
	"context"
	"fmt"
	"time"

	"academy.example/lab/labctl/internal/fault"
	"academy.example/lab/labctl/internal/lab"
	"academy.example/lab/labctl/internal/provider"
	"academy.example/lab/labctl/internal/report"
	"academy.example/lab/labctl/internal/sim"
	"academy.example/lab/labctl/internal/timeline"
	"academy.example/lab/operator/api"
)

// line is the command that plays one trial again.
func (f simulateFlags) line(t api.Timing, trial int) string {
	return fmt.Sprintf("labctl simulate --mode %s --election %s --timing %g/%g/%g --standbys %d --release-on-cancel=%t --latency %s --seed %d --trial %d",
		f.mode, f.election, t.LeaseDuration.Seconds(), t.RenewDeadline.Seconds(), t.RetryPeriod.Seconds(), f.standbys, f.release, f.latency, f.seed, trial)
}

// simulateOne plays one trial of a seed again, and records it as a run.
func (a *app) simulateOne(ctx context.Context, f simulateFlags, s sim.Scenario) error {
	if f.seed == 0 {
		return &provider.Problem{Err: fmt.Errorf("--trial %d is a trial of a seed, and none is given", f.trial), Hint: fmt.Sprintf("labctl simulate --seed 7 --trial %d", f.trial)}
	}
	runs, err := runsFolder(f.runsDir)
	if err != nil {
		return err
	}
	d, _ := fault.Describe(fault.Mode(f.mode))
	issued := &timeline.Fault{Mode: f.mode, Silences: d.Silences, Kind: timeline.FaultKind(d.Kind)}
	results, err := sim.Simulate(ctx, []sim.Batch{{Scenario: s, N: 1, Seed: f.seed + uint64(f.trial-1), Record: issued}})
	if err != nil {
		return err
	}
	events := results[0][0].Events
	events[0].Note = f.line(s.Timing, f.trial)
	result, err := lab.WriteRecord(runs, time.Now(), f.info(s, events[0].Wall), events)
	if err != nil {
		return err
	}
	if a.json {
		return report.JSON(a.streams.Out, result)
	}
	if err := report.Text(a.streams.Out, result); err != nil {
		return err
	}
	run := shellWord(result.Run)
	_, err = fmt.Fprintf(a.streams.Out, "trial %d of seed %d, played again in virtual time, with requests of %s\nrecord: %s\n\nnext:\n  %s\n  %s\n", f.trial, f.seed, f.latency, result.Run,
		a.typed("labctl replay --speed 4 "+run), a.typed("labctl report --format html --output trial.html "+run))
	return err
}

// info is run.json of a simulated trial. Its times are virtual: they begin in the year 2000.
func (f simulateFlags) info(s sim.Scenario, begun time.Time) lab.RunInfo {
	name := api.DefaultNamespace + "/" + api.DefaultName
	return lab.RunInfo{Header: report.Header{Provider: report.ProviderSimulated, Operator: name, Lease: name, Election: report.Setting(s.Election),
		Identity: api.IdentityPod, ReleaseOnCancel: &s.ReleaseOnCancel, Timing: s.Timing},
		Modes: []string{f.mode}, Trials: 1, Lanes: 1, Seed: f.seed, StartedAt: begun, Labctl: provider.Version(), Lab: "none"}
}
