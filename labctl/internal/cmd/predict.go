package cmd

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"academy.example/lab/labctl/internal/fault"
	"academy.example/lab/labctl/internal/gap"
	"academy.example/lab/labctl/internal/provider"
	"academy.example/lab/labctl/internal/provider/embedded"
	"academy.example/lab/labctl/internal/report"
	"academy.example/lab/labctl/internal/timeline"
	"academy.example/lab/operator/api"
)

type predictFlags struct {
	timing, modes, election string
	standbys                int
	replacement             time.Duration
	age                     time.Duration
}

func (a *app) predictCommand() *cobra.Command {
	var f predictFlags
	c := &cobra.Command{
		Use:   "predict",
		Short: "Say what the protocol makes of the three durations, without a cluster",
		Long: "predict computes how long nobody can hold the Lease: the range, the mean and the quantiles of its exact distribution,\n" +
			"and its terms, each with the flag that sets it and the line of client-go that makes it.",
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.predict(c, f) },
	}
	c.Flags().StringVar(&f.timing, "timing", "default", "default (15/10/2), fast (5/3/1) or three numbers of seconds")
	c.Flags().StringVar(&f.modes, "mode", fault.CommonNames(), "what is done to the holder: one or several of "+fault.Names())
	c.Flags().StringVar(&f.election, "election", api.DefaultElection, "how leaders are elected: "+strings.Join(api.Elections(), " or "))
	c.Flags().IntVar(&f.standbys, "standbys", 1, "candidates that poll when the leader goes")
	c.Flags().DurationVar(&f.replacement, "replacement-start", report.ReplacementStart(embedded.DefaultPodStartLatency), "when a replacement pod first polls, after the fault; 0: there is none")
	c.Flags().DurationVar(&f.age, "age", 0, "how old the last renewal is when a holder is killed, if that is known")
	return c
}

// predictResult is what `predict --json` prints.
type predictResult struct {
	Schema                  string                    `json:"schema"`
	Kind                    string                    `json:"kind"`
	Timing                  api.Timing                `json:"timing"`
	Election                string                    `json:"election"`
	Standbys                int                       `json:"standbys"`
	ReplacementStartSeconds float64                   `json:"replacementStartSeconds"`
	AgeSeconds              *float64                  `json:"ageSeconds"`
	Predicted               map[string]gap.Prediction `json:"predicted"`
	Terms                   map[string][]gap.Term     `json:"terms"`

	modes []fault.Mode
}

func (a *app) predict(c *cobra.Command, f predictFlags) error {
	timing, err := parseTiming(c.CommandPath(), f.timing)
	if err != nil {
		return err
	}
	wrong := func(hint, format string, args ...any) error {
		return &provider.Problem{Err: fmt.Errorf(format, args...), Hint: c.CommandPath() + " " + hint}
	}
	modes, err := fault.Parse(f.modes)
	coordinated := f.election == api.ElectionCoordinated
	switch {
	case err != nil:
		return wrong("--mode "+string(fault.Force), "--mode: %w", err)
	case !slices.Contains(api.Elections(), f.election):
		return wrong("--election "+api.DefaultElection, "--election %q is none of %s", f.election, strings.Join(api.Elections(), ", "))
	case coordinated && c.Flags().Changed("age"):
		return wrong("--election "+f.election, "--age tells nothing of the %s election: the API server looks at the Lease by its own clock, every 5 s", f.election)
	case f.standbys < 0 || f.standbys > maxReplicas:
		return wrong("--standbys 1", "--standbys %d is not between 0 and %d", f.standbys, maxReplicas)
	case f.replacement < 0 || f.replacement > time.Hour:
		return wrong("--replacement-start 1.35s", "--replacement-start %s is not between 0 and 1h", f.replacement)
	case f.age < 0 || f.age > timing.RetryPeriod:
		return wrong("--age "+(timing.RetryPeriod/2).String(), "--age %s is not between 0 and RetryPeriod, %s: a holder renews that often", f.age, timing.RetryPeriod)
	}
	result := predictResult{Schema: report.Schema, Kind: "Prediction", Timing: timing, Election: f.election, Standbys: f.standbys, ReplacementStartSeconds: f.replacement.Seconds(),
		Predicted: map[string]gap.Prediction{}, Terms: map[string][]gap.Term{}, modes: modes}
	if c.Flags().Changed("age") {
		result.AgeSeconds = new(f.age.Seconds())
	}
	for _, m := range modes {
		if err := gap.Elects(m); coordinated && err != nil {
			return wrong("--election "+f.election+" --mode kill", "%w", err)
		}
		in := gap.Input{Timing: timing, Mode: m, Standbys: f.standbys, ReplacementStart: f.replacement.Seconds(), Coordinated: coordinated, Remakes: f.election == api.ElectionPlain}
		if d, _ := fault.Describe(m); !d.Replaces() {
			in.ReplacementStart = 0
		}
		p, err := gap.Predict(in)
		if err != nil {
			return wrong("--standbys 1", "%w", err)
		}
		terms := []gap.Term{}
		if !coordinated {
			terms = gap.Explain(in, in.Class())
		}
		if result.AgeSeconds != nil && in.Class() == timeline.Expired {
			p, terms = gap.PredictAged(in, *result.AgeSeconds), gap.ExplainAged(in, *result.AgeSeconds)
		}
		result.Predicted[string(m)], result.Terms[string(m)] = p, terms
	}
	if a.json {
		return report.JSON(a.streams.Out, result)
	}
	return a.printPrediction(result)
}

func (a *app) printPrediction(result predictResult) error {
	out := a.streams.Out
	fmt.Fprintf(out, "LeaseDuration %s   RenewDeadline %s   RetryPeriod %s   standbys %d   election %s\n", result.Timing.LeaseDuration, result.Timing.RenewDeadline, result.Timing.RetryPeriod, result.Standbys, result.Election)
	fmt.Fprintln(out, "how long nobody can hold the Lease, from the protocol alone (API latency 0):")
	if result.ReplacementStartSeconds > 0 && !result.elected() {
		fmt.Fprintf(out, "a replacement pod joins in %.2f s after the fault (--replacement-start, of the embedded lab; 0: none), and so\nshortens mean and quantiles, where one is made; without it the means are the sums of the terms\n", result.ReplacementStartSeconds)
	}
	if result.AgeSeconds != nil {
		fmt.Fprintf(out, "the last renewal is %.2f s old when the holder is killed\n", *result.AgeSeconds)
	}
	fmt.Fprintln(out)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "WHAT IS DONE\tRANGE\tMEAN\tP50\tP95\tP99")
	for _, m := range result.modes {
		d, _ := fault.Describe(m)
		p := result.Predicted[string(m)]
		if p.MeanSeconds == 0 {
			fmt.Fprintf(table, "%s\t%s\t–\t–\t–\t–\n", d.Title, report.Band(p))
			continue
		}
		fmt.Fprintf(table, "%s\t%s\t%.2f s\t%.2f s\t%.2f s\t%.2f s\n", d.Title, report.Band(p), p.MeanSeconds, p.P50Seconds, p.P95Seconds, p.P99Seconds)
	}
	table.Flush()
	if result.elected() {
		return a.printElected(result)
	}
	for _, m := range result.modes {
		a.printTerms(m, result.Terms[string(m)])
	}
	fmt.Fprintln(out, "\nRenewDeadline is in none of them: it bounds how long a leader that can't renew works on.")
	_, err := fmt.Fprintf(out, "\nnext: %s\n", a.typed("labctl up")+" && "+a.typed("labctl failover "+result.flags()))
	return err
}

// elected reports whether the API server elects, of which only bounds are derived.
func (r predictResult) elected() bool { return r.Election == api.ElectionCoordinated }

// printElected says what the ranges of the coordinated election are made of.
func (a *app) printElected(result predictResult) error {
	for _, m := range result.modes {
		d, _ := fault.Describe(m)
		fmt.Fprintf(a.streams.Out, "\n%s: %s.\n  %s\n", d.Title, d.Action, report.Wrap(result.Predicted[string(m)].Terms, 118, 2))
	}
	_, err := fmt.Fprintf(a.streams.Out, "\nOnly bounds are derived here, and no distribution: docs/coordinated.md\nnext: %s\n", a.typed("labctl up")+" && "+a.typed("labctl failover "+result.flags()))
	return err
}

// flags are those with which failover measures what was predicted.
func (r predictResult) flags() string {
	var names []string
	for _, m := range r.modes {
		names = append(names, string(m))
	}
	flags := "--mode " + strings.Join(names, ",")
	if r.Election != api.DefaultElection {
		flags += " --election " + r.Election
	}
	if r.Timing != api.Default() {
		flags += " --timing " + r.Timing.String()
	}
	return flags
}

// printTerms says what a mode's gap is made of.
func (a *app) printTerms(m fault.Mode, terms []gap.Term) {
	out := a.streams.Out
	d, _ := fault.Describe(m)
	fmt.Fprintf(out, "\n%s: %s.\n", d.Title, d.Action)
	for _, t := range terms {
		span := fmt.Sprintf("%.1f to %.1f s, mean %.2f", t.MinSeconds, t.MaxSeconds, t.MeanSeconds)
		if t.MinSeconds == t.MaxSeconds {
			span = fmt.Sprintf("%.2f s", t.MinSeconds)
		}
		fmt.Fprintf(out, "  %s: %s\n", t.Name, span)
		if t.Flag != "" {
			fmt.Fprintf(out, "      %s\n      %s\n", t.Flag, t.Source)
		}
	}
	fmt.Fprintf(out, "  %s\n", d.Lesson)
}
