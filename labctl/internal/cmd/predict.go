package cmd

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"academy.example/lab/labctl/internal/fault"
	"academy.example/lab/labctl/internal/gap"
	"academy.example/lab/labctl/internal/provider/embedded"
	"academy.example/lab/labctl/internal/report"
	"academy.example/lab/operator/api"
)

type predictFlags struct {
	timing   string
	standbys int
}

func (a *app) predictCommand() *cobra.Command {
	var f predictFlags
	c := &cobra.Command{
		Use:   "predict",
		Short: "Say what the protocol makes of the three durations, without a cluster",
		Args:  noArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return a.predict(c, f) },
	}
	c.Flags().StringVar(&f.timing, "timing", "default", "default (15/10/2), fast (5/3/1) or three numbers of seconds")
	c.Flags().IntVar(&f.standbys, "standbys", 1, "candidates that poll when the leader goes")
	return c
}

// predictResult is what `predict --json` prints.
type predictResult struct {
	Schema    string                    `json:"schema"`
	Kind      string                    `json:"kind"`
	Timing    api.Timing                `json:"timing"`
	Standbys  int                       `json:"standbys"`
	Predicted map[string]gap.Prediction `json:"predicted"`
}

func (a *app) predict(c *cobra.Command, f predictFlags) error {
	timing, err := parseTiming(c.CommandPath(), f.timing)
	if err != nil {
		return err
	}
	if f.standbys < 0 || f.standbys > maxReplicas {
		return usageError{command: c.CommandPath(), err: fmt.Errorf("--standbys %d is not between 0 and %d", f.standbys, maxReplicas)}
	}
	header := report.Header{Timing: timing, ReleaseOnCancel: new(true), Identity: api.IdentityPod, PodStartLatencySeconds: embedded.DefaultPodStartLatency.Seconds()}
	result := predictResult{report.Schema, "Prediction", timing, f.standbys, map[string]gap.Prediction{}}
	for _, d := range fault.Modes() {
		if result.Predicted[string(d.Mode)], err = gap.Predict(header.Input(d.Mode, f.standbys)); err != nil {
			return err
		}
	}
	if a.json {
		return report.JSON(a.streams.Out, result)
	}
	return a.printPrediction(result, header.ReplacementStart())
}

func (a *app) printPrediction(result predictResult, replacement float64) error {
	out := a.streams.Out
	fmt.Fprintf(out, "LeaseDuration %s   RenewDeadline %s   RetryPeriod %s   standbys %d\n", result.Timing.LeaseDuration, result.Timing.RenewDeadline, result.Timing.RetryPeriod, result.Standbys)
	fmt.Fprintf(out, "how long nobody can hold the Lease, from the protocol alone (API latency 0, a replacement pod first polls after %.2f s):\n\n", replacement)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "WHAT IS DONE\tRANGE\tMEAN\t95% WITHIN")
	for _, d := range fault.Modes() {
		p := result.Predicted[string(d.Mode)]
		fmt.Fprintf(table, "%s\t%s\t%.1f s\t%.1f s\n", d.Title, report.Band(p), p.MeanSeconds, p.P95Seconds)
	}
	table.Flush()
	fmt.Fprintln(out, "\nthe range is that of a standby alone; a replacement that polls early shortens mean and 95%")
	fmt.Fprintln(out)
	for _, d := range fault.Modes() {
		fmt.Fprintf(out, "%s: %s.\n  %s\n", d.Title, d.Action, d.Lesson)
	}
	_, err := fmt.Fprintf(out, "\nnext: %s\n", a.typed("labctl up")+" && "+a.typed("labctl failover --mode graceful,force-delete,kill"))
	return err
}
