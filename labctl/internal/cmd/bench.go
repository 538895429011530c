package cmd

import (
	"fmt"
	"math/rand/v2"

	"github.com/spf13/cobra"

	"academy.example/lab/labctl/internal/fault"
	"academy.example/lab/labctl/internal/lab"
	"academy.example/lab/labctl/internal/provider"
	"academy.example/lab/labctl/internal/replica"
	"academy.example/lab/labctl/internal/report"
	"academy.example/lab/labctl/internal/timeline"
	"academy.example/lab/manifests"
	"academy.example/lab/operator/api"
)

// A bench is a minute or two of thousands of events: two leaders that work ten times a second, and failovers.
const (
	benchTrials = 24
	benchLanes  = 2
)

func (a *app) benchCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "bench",
		Short: "Measure the instrument: how late labctl sees things on this machine",
		Long: fmt.Sprintf("bench times %d graceful failovers of replicas of its own, %d side by side, and compares when labctl saw each event with when\n"+
			"its source wrote it down by the same clock. It takes about two minutes. The operator is left alone.", benchTrials, benchLanes),
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.bench(c) },
	}
}

func (a *app) bench(c *cobra.Command) error {
	runs, err := lab.RunsDir()
	if err != nil {
		return err
	}
	timing := api.Fast()
	show := newProgress(a.streams.Err)
	defer show.Stop()
	l, err := a.open(c.Context(), show.Say)
	if err != nil {
		return err
	}
	result, err := l.Failover(c.Context(), lab.Options{
		Modes: []fault.Mode{fault.Graceful}, Trials: benchTrials, Lanes: benchLanes, Manifests: manifests.FS, Set: replica.Change{Timing: &timing},
		Seed: rand.Uint64(), RunsDir: runs, Version: provider.Version(),
		OnTrial: func(n, of int, t timeline.Trial) { show.Line(trialLine(n, of, t)) },
	})
	show.Stop()
	if err != nil {
		return err
	}
	record, err := lab.ReadRecord(result.Run)
	if err != nil {
		return err
	}
	lags := report.NewLags(result, record.Events)
	if a.json {
		return report.JSON(a.streams.Out, lags)
	}
	if err := report.LagsText(a.streams.Out, lags); err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.streams.Out, "\nrecord: %s\nnext: %s\n", result.Run, a.typed("labctl failover --force"))
	return err
}
