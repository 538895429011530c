package cmd

import (
	"errors"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"academy.example/lab/labctl/internal/gap"
	"academy.example/lab/labctl/internal/provider"
	"academy.example/lab/labctl/internal/report"
)

// typicalRenew is how long a renewal takes at most if nothing else is said, 99 of 100 times.
const typicalRenew = 500 * time.Millisecond

type adviseFlags struct {
	worst, renew time.Duration
	timing       string
}

func (a *app) adviseCommand() *cobra.Command {
	var f adviseFlags
	c := &cobra.Command{
		Use:   "advise",
		Short: "Choose the three durations for a longest gap, or say what given ones give",
		Long: "advise lists the durations whose longest gap is what you can bear, with what each costs, or judges the ones of --timing.\n" +
			"A gap is longest if the holder is killed just after a renewal, and the polls fall badly.",
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.advise(c, f) },
	}
	c.Flags().DurationVar(&f.worst, "worst-gap", 0, "the longest time without a leader that you can bear")
	c.Flags().DurationVar(&f.renew, "renew-p99", typicalRenew, "how long a renewal takes at most in your cluster, 99 of 100 times")
	c.Flags().StringVar(&f.timing, "timing", "", "judge these: default, fast or three numbers of seconds")
	return c
}

// adviseResult is what `advise --json` prints.
type adviseResult struct {
	Schema          string        `json:"schema"`
	Kind            string        `json:"kind"`
	WorstGapSeconds *float64      `json:"worstGapSeconds"`
	RenewSeconds    float64       `json:"renewP99Seconds"`
	Settings        []gap.Setting `json:"settings"`
}

func (a *app) advise(c *cobra.Command, f adviseFlags) error {
	wrong := func(worst, renew time.Duration, format string, args ...any) error {
		return &provider.Problem{Err: fmt.Errorf(format, args...), Hint: bearable(worst, renew)}
	}
	result := adviseResult{Schema: report.Schema, Kind: "Advice", RenewSeconds: f.renew.Seconds()}
	switch {
	case f.renew < 0 || f.renew > time.Minute:
		return wrong(f.worst, typicalRenew, "--renew-p99 %s is not between 0 and 1m", f.renew)
	case f.worst < 0 || f.worst > time.Hour:
		return wrong(0, f.renew, "--worst-gap %s is not between 0 and 1h", f.worst)
	case (f.timing == "") == (f.worst == 0):
		return wrong(f.worst, f.renew, "give either --worst-gap or --timing")
	case f.timing != "":
		timing, err := parseTiming(c.CommandPath(), f.timing)
		if err != nil {
			return err
		}
		result.Settings = []gap.Setting{gap.Judge(timing, f.renew)}
	default:
		result.WorstGapSeconds = new(f.worst.Seconds())
		if result.Settings = gap.Advise(f.worst, f.renew); len(result.Settings) == 0 {
			return wrong(f.worst, f.renew, "no durations keep a gap below %s when renewals take up to %s: a leader needs time to try again", f.worst, f.renew)
		}
	}
	if a.json {
		return report.JSON(a.streams.Out, result)
	}
	return a.printAdvice(result)
}

// The first gap that is tried for a hint, and the step to the next one.
const (
	firstTried = 30 * time.Second
	triedStep  = 10 * time.Second
)

// bearable is a command that gives durations for renewals as long as these: with the gap that was asked for if there are some, or
// with a longer one.
func bearable(worst, renew time.Duration) string {
	if worst <= 0 || worst > time.Hour {
		worst = firstTried
	}
	for len(gap.Advise(worst, renew)) == 0 && worst < time.Hour {
		worst = min(worst.Truncate(triedStep)+triedStep, time.Hour)
	}
	hint := "labctl advise --worst-gap " + worst.String()
	if renew != typicalRenew {
		hint += " --renew-p99 " + renew.String()
	}
	return hint
}

func (a *app) printAdvice(result adviseResult) error {
	out := a.streams.Out
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "LD/RD/RP\tKILLED worst/mean\tRELEASED worst\tAPI OUTAGE\tMARGIN\tLEADER WRITES\tSTANDBY READS")
	for _, s := range result.Settings {
		fmt.Fprintf(table, "%s\t%.1f / %.1f s\t%.1f s\t%.1f s\t%.0f s\t%.1f/min\t%.1f/min\n", s.Timing, s.WorstSeconds, s.MeanSeconds, s.ReleasedSeconds,
			s.OutageSeconds, s.MarginSeconds, s.WritesPerMinute, s.ReadsPerMinute)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	best := result.Settings[0]
	fmt.Fprintf(out, "\nLD/RD/RP: LeaseDuration, RenewDeadline, RetryPeriod in seconds; one standby, no replacement.\n"+
		"API OUTAGE: the longest one that costs no leader. It grows with RenewDeadline; the gap grows with LeaseDuration.\n"+
		"MARGIN: LeaseDuration − RenewDeadline − RetryPeriod. An answer to a renewal that is later makes two leaders possible;\n"+
		"so does a standby's clock that runs faster than %.2f times the leader's (%s).\n", best.ClockRatio, best.Timing)
	if best.MarginSeconds < result.RenewSeconds+1 {
		fmt.Fprintf(out, "warning: a margin of %.1f s is less than a renewal of %.1f s and a second.\n", best.MarginSeconds, result.RenewSeconds)
	}
	if result.WorstGapSeconds != nil {
		fmt.Fprintf(out, "\nThe first row survives the longest outage, the last asks the API server least. Between them it is your choice; of the\n"+
			"first: --leader-elect-lease-duration=%s --leader-elect-renew-deadline=%s --leader-elect-retry-period=%s\n",
			best.Timing.LeaseDuration, best.Timing.RenewDeadline, best.Timing.RetryPeriod)
	}
	_, err := fmt.Fprintf(out, "\nnext: %s\n", a.typed("labctl predict --timing "+best.Timing.String()))
	return errors.Join(err)
}
