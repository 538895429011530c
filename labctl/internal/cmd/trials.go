package cmd

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"academy.example/lab/labctl/internal/check"
	"academy.example/lab/labctl/internal/fault"
	"academy.example/lab/labctl/internal/gap"
	"academy.example/lab/labctl/internal/lab"
	"academy.example/lab/labctl/internal/provider"
	"academy.example/lab/labctl/internal/report"
	"academy.example/lab/labctl/internal/timeline"
	"academy.example/lab/operator/api"
)

type trialsFlags struct {
	pairs, shards       int
	mode, timing, claim string
	precision           time.Duration
	seed                uint64
}

func (a *app) trialsCommand() *cobra.Command {
	var f trialsFlags
	c := &cobra.Command{
		Use:   "trials",
		Short: "Measure many failovers at once, of candidates inside labctl",
		Long: "trials runs pairs of real client-go candidates inside this process, each pair on a Lease of its own on the lab's API server,\n" +
			"and takes every leader away at a random moment. No pod is involved: it measures the protocol, and holds the model against it.\n" +
			"With --shards the candidates run in the pods of a Job of the operator's image instead, spread over the cluster's nodes.",
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.trials(c, f) },
	}
	c.Flags().IntVar(&f.pairs, "pairs", 100, fmt.Sprintf("1 to %d pairs", maxPairs))
	c.Flags().IntVar(&f.shards, "shards", 0, fmt.Sprintf("run them in this many pods of a Job, 1 to %d; 0 runs them inside labctl", maxShards))
	c.Flags().StringVar(&f.mode, "mode", string(fault.Kill), "kill (the leader is cut off for good) or graceful (it releases)")
	c.Flags().StringVar(&f.timing, "timing", "default", "what the candidates run with: default, fast or three numbers of seconds")
	c.Flags().StringVar(&f.claim, "claim", "", "what the model is told instead, to see whether the measurement notices")
	c.Flags().DurationVar(&f.precision, "precision", 200*time.Millisecond, "the margin of the mean for which the number of trials is told")
	c.Flags().Uint64Var(&f.seed, "seed", 0, "seed of the random moments; 0 draws one")
	return c
}

// maxPairs keeps a typing error from filling the machine, and maxShards one from filling the cluster.
const (
	maxPairs  = 400
	maxShards = 40
)

// trialsResult is what `trials --json` prints.
type trialsResult struct {
	Schema    string           `json:"schema"`
	Kind      string           `json:"kind"`
	Provider  string           `json:"provider"`
	InProcess bool             `json:"inProcess"` // the candidates ran inside labctl
	Shards    int              `json:"shards"`    // or else in so many pods of a Job
	Mode      fault.Mode       `json:"mode"`
	Timing    api.Timing       `json:"timing"`
	Claimed   api.Timing       `json:"claimed"`
	Seed      uint64           `json:"seed"`
	Seconds   float64          `json:"seconds"`
	Sample    gap.Sample       `json:"sample"`
	Predicted gap.Prediction   `json:"predicted"`
	Checks    []check.Check    `json:"checks"`
	Verdict   check.Verdict    `json:"verdict"`
	Trials    []timeline.Trial `json:"trials"`

	precision time.Duration
}

// options checks the flags.
func (f trialsFlags) options(c *cobra.Command) (lab.PairOptions, error) {
	wrong := func(hint, format string, args ...any) (lab.PairOptions, error) {
		return lab.PairOptions{}, &provider.Problem{Err: fmt.Errorf(format, args...), Hint: "labctl trials " + hint}
	}
	o := lab.PairOptions{Pairs: f.pairs, Mode: fault.Mode(f.mode), Seed: f.seed, Shards: f.shards}
	var err error
	switch {
	case f.pairs < 1 || f.pairs > maxPairs:
		return wrong("--pairs 100", "--pairs %d is not between 1 and %d", f.pairs, maxPairs)
	case f.shards < 0 || f.shards > min(maxShards, f.pairs):
		return wrong("--pairs 100 --shards 4", "--shards %d is not between 0 and %d, for %d pairs", f.shards, min(maxShards, f.pairs), f.pairs)
	case o.Mode != fault.Kill && o.Mode != fault.Graceful:
		return wrong("--mode kill", "--mode %q: a candidate in this process can be cut off (kill) or asked to stop (graceful)", f.mode)
	case f.precision <= 0:
		return wrong("--precision 200ms", "--precision %s is no margin", f.precision)
	}
	if o.Timing, err = parseTiming(c.CommandPath(), f.timing); err != nil {
		return o, err
	}
	o.Claimed = o.Timing
	if f.claim != "" {
		if o.Claimed, err = claimed(c.CommandPath(), f.claim); err != nil {
			return o, err
		}
	}
	if o.Seed == 0 {
		o.Seed = rand.Uint64()
	}
	return o, nil
}

func (a *app) trials(c *cobra.Command, f trialsFlags) error {
	o, err := f.options(c)
	if err != nil {
		return err
	}
	show := newProgress(a.streams.Err)
	defer show.Stop()
	l, err := a.open(c.Context(), show.Say)
	if err != nil {
		return err
	}
	begun := time.Now()
	measured, err := l.Pairs(c.Context(), o)
	show.Stop()
	if err != nil {
		return err
	}
	result := trialsResult{Schema: report.Schema, Kind: "Trials", Provider: l.Cluster.Provider, InProcess: o.Shards == 0, Shards: o.Shards, Mode: o.Mode, Timing: o.Timing, Claimed: o.Claimed,
		Seed: o.Seed, Seconds: time.Since(begun).Seconds(), Sample: measured.Sample, Predicted: measured.Predicted, Checks: measured.Checks,
		Verdict: measured.Verdict, Trials: measured.Trials, precision: f.precision}
	if a.json {
		err = report.JSON(a.streams.Out, result)
	} else {
		err = a.printTrials(result)
	}
	return errors.Join(err, exitFor(result.Verdict))
}

func (a *app) printTrials(r trialsResult) error {
	out, s, p := a.streams.Out, r.Sample, r.Predicted
	where := "inside labctl (no pods)"
	if r.Shards > 0 {
		where = fmt.Sprintf("in %d pods of a Job", r.Shards)
	}
	fmt.Fprintf(out, "%d of %d pairs counted: client-go candidates %s, %s, %s, in %.0f s\n", s.N, len(r.Trials), where, r.Mode, r.Timing, r.Seconds)
	if r.Claimed != r.Timing {
		fmt.Fprintf(out, "the model was told that they run with %s\n", r.Claimed)
	}
	fmt.Fprintln(out)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "LOCK GAP\tMIN\tMEAN\tP50\tP95\tP99\tMAX")
	fmt.Fprintf(table, "predicted\t%.2f s\t%.2f s\t%.2f s\t%.2f s\t%.2f s\t%.2f s\n", p.MinSeconds, p.MeanSeconds, p.P50Seconds, p.P95Seconds, p.P99Seconds, p.MaxSeconds)
	if s.N > 0 {
		mean := fmt.Sprintf("%.2f s", s.MeanSeconds)
		if s.MeanMarginSeconds != nil {
			mean = fmt.Sprintf("%.2f ± %.2f s", s.MeanSeconds, *s.MeanMarginSeconds)
		}
		fmt.Fprintf(table, "measured\t%.2f s\t%s\t%.2f s\t%s\t%s\t%.2f s\n", s.MinSeconds, mean, s.P50Seconds, orFew(s.P95Seconds), orFew(s.P99Seconds), s.MaxSeconds)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(out, "\n±: 95 % confidence of the mean. –: too few trials to say; p95 needs 20, p99 a hundred.")
	switch more := s.More(r.precision.Seconds()); {
	case more > 0:
		fmt.Fprintf(out, "for a mean to within ± %s: %d more trials\n", r.precision, more)
	case more == 0:
		fmt.Fprintf(out, "these are enough for a mean to within ± %s\n", r.precision)
	}
	fmt.Fprintf(out, "\nverdict: %s\n", r.Verdict)
	if lost := len(r.Trials) - s.N; lost*20 > len(r.Trials) {
		fmt.Fprintf(out, "  %s\n", report.Wrap(fmt.Sprintf("%d of %d pairs were disturbed: this machine, or the API server, is too busy for so many at once. Fewer of them, "+
			"a longer RetryPeriod or a quieter machine leaves more room: %s", lost, len(r.Trials), a.typed(fmt.Sprintf("labctl trials --pairs %d --mode %s", max(1, len(r.Trials)/3), r.Mode))), 80, 2))
	}
	for _, c := range r.Checks {
		if c.Verdict != check.Pass || c.Name == check.Distribution {
			fmt.Fprintf(out, "  %s\n", report.Wrap(fmt.Sprintf("%s: %s: %s", c.Verdict, c.Name, c.Reason), 80, 2))
		}
	}
	next := fmt.Sprintf("labctl trials --pairs %d --mode %s --timing %s --seed %d", len(r.Trials), r.Mode, r.Timing, r.Seed)
	if r.Shards > 0 {
		next += fmt.Sprintf(" --shards %d", r.Shards)
	}
	if r.Claimed != r.Timing {
		next += " --claim " + r.Claimed.String()
	}
	_, err := fmt.Fprintf(out, "\nagain with the same moments: %s\nnext: %s\n", a.typed(next), a.typed("labctl failover --mode "+string(r.Mode)+" --trials 10"))
	return err
}

func orFew(seconds *float64) string {
	if seconds == nil {
		return "–"
	}
	return fmt.Sprintf("%.2f s", *seconds)
}
