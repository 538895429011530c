package cmd

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"academy.example/lab/labctl/internal/fault"
	"academy.example/lab/labctl/internal/lab"
	"academy.example/lab/labctl/internal/provider"
	"academy.example/lab/labctl/internal/replica"
	"academy.example/lab/labctl/internal/report"
	"academy.example/lab/labctl/internal/timeline"
	"academy.example/lab/manifests"
)

type failoverFlags struct {
	force    bool
	modes    string
	trials   int
	lanes    int
	settings settingFlags
	foreign  foreignFlags
	seed     uint64
	runsDir  string
	junit    string
	limit    time.Duration
}

func (a *app) failoverCommand() *cobra.Command {
	var f failoverFlags
	c := &cobra.Command{
		Use:   "failover",
		Short: "Take the leader away and time how long nobody leads",
		Long: "failover takes the leader away and times it until its successor works. Modes:\n" + modesHelp(false) +
			"advanced, see docs/modes.md:\n" + modesHelp(true) +
			"\n--force means --mode kill: nobody releases the Lease. A forced delete alone (force-delete) still lets the holder release it.",
		Example: "  labctl failover --force\n  labctl failover --mode graceful,force-delete,kill\n  labctl failover --force --trials 10 --timing fast --json",
		Args:    noArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return a.failover(c, f) },
	}
	c.Flags().BoolVar(&f.force, "force", false, "the same as --mode kill")
	c.Flags().StringVar(&f.modes, "mode", string(fault.Graceful), "what is done, one or several separated by commas: "+fault.Names())
	c.Flags().IntVar(&f.trials, "trials", 1, "how often each mode is done")
	c.Flags().IntVar(&f.lanes, "lanes", 1, fmt.Sprintf("1 to %d sets of replicas, each with a Lease, among which the trials are shared; the operator itself is left alone if more than 1", maxLanes))
	f.settings.define(c, ", set first and kept")
	f.foreign.define(c)
	c.Flags().Uint64Var(&f.seed, "seed", 0, "seed of the random phases; 0 draws one, in a class from its nonce")
	c.Flags().StringVar(&f.junit, "junit", "", "write the checks and trials to this file as a JUnit report, too, for a CI system; see docs/ci.md")
	c.Flags().StringVar(&f.runsDir, "runs-dir", "", "folder for the record of the run")
	c.Flags().DurationVar(&f.limit, "time-limit", 0, "give up after this long, with exit code 124; 0 never does")
	return c
}

// modesHelp tells the modes to begin with, or the advanced ones.
func modesHelp(advanced bool) string {
	text := ""
	for _, d := range fault.Modes() {
		if d.Advanced != advanced {
			continue
		}
		text += fmt.Sprintf("  %-13s %s\n", d.Mode, d.Action)
	}
	return text
}

// maxTrials keeps a typing error from running for days, and maxLanes one from filling the machine: a lane of two replicas
// takes about 60 MB.
const (
	maxTrials = 1000
	maxLanes  = 32
)

// options reads the flags; every problem with them is a usage error.
func (f failoverFlags) options(c *cobra.Command) (lab.Options, error) {
	usage := func(format string, args ...any) (lab.Options, error) {
		return lab.Options{}, usageError{command: c.CommandPath(), err: fmt.Errorf(format, args...)}
	}
	o := lab.Options{Trials: f.trials, Lanes: f.lanes, Manifests: manifests.FS, Seed: f.seed, RunsDir: f.runsDir, Version: provider.Version()}
	if f.force && c.Flags().Changed("mode") && f.modes != string(fault.Force) {
		return usage("--force means --mode %s; it can't be joined with --mode %s", fault.Force, f.modes)
	}
	if f.force {
		f.modes = string(fault.Force)
	}
	var err error
	if o.Modes, err = fault.Parse(f.modes); err != nil {
		return usage("%w", err)
	}
	if f.trials < 1 || f.trials > maxTrials {
		return usage("--trials %d is not between 1 and %d", f.trials, maxTrials)
	}
	if f.lanes < 1 || f.lanes > maxLanes {
		return usage("--lanes %d is not between 1 and %d", f.lanes, maxLanes)
	}
	if f.junit == "" && c.Flags().Changed("junit") {
		return usage("--junit has no file's name")
	}
	if f.junit != "" {
		if _, err := outputFile("--junit", f.junit); err != nil {
			return o, err
		}
	}
	if f.limit < 0 {
		return usage("--time-limit %s is negative", f.limit)
	}
	if o.Set, err = f.settings.change(c); err != nil {
		return o, err
	}
	if o.Foreign, err = f.foreign.foreign(c.CommandPath()); err != nil {
		return o, err
	}
	if o.Foreign != nil && (o.Lanes > 1 || o.Set != (replica.Change{})) {
		return usage("--lanes and the operator's settings are for the lab's own operator, not for --deployment")
	}
	if o.Seed == 0 {
		if o.Seed, o.Modes, err = drawn(o.Modes); err != nil {
			return o, err
		}
	}
	o.RunsDir, err = runsFolder(o.RunsDir)
	return o, err
}

// meanwhile says of an error in a run that was under way that its lab is gone.
func meanwhile(err error) error {
	if errors.Is(err, provider.ErrNoLab) {
		return fmt.Errorf("the lab was removed, or ended, meanwhile: %w", err)
	}
	return err
}

func (a *app) failover(c *cobra.Command, f failoverFlags) error {
	options, err := f.options(c)
	if err != nil {
		return err
	}
	ctx := c.Context()
	if f.limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, f.limit)
		defer cancel()
	}
	a.left = "labctl status"
	show := newProgress(a.streams.Err)
	defer show.Stop()
	l, err := a.open(ctx, show.Say)
	if err != nil {
		show.Stop()
		return err
	}
	options.OnTrial = func(n, of int, t timeline.Trial) { show.Line(trialLine(n, of, t)) }
	result, err := l.Failover(ctx, options)
	err = meanwhile(err)
	show.Stop()
	if err != nil && len(result.Trials) == 0 {
		if result.Run != "" {
			fmt.Fprintf(a.streams.Err, "note: no trial was finished; what was seen is in %s\n", lines(result.Run))
		}
		return a.ended(ctx, c, f, err)
	}
	if printed := errors.Join(f.giveJUnit(result), a.printFailover(result, options)); printed != nil {
		return printed
	}
	if err != nil {
		return a.ended(ctx, c, f, err)
	}
	return exitFor(result.Verdict)
}

// giveJUnit writes the run as a JUnit report, if one was asked for.
func (f failoverFlags) giveJUnit(result report.Failover) error {
	if f.junit == "" {
		return nil
	}
	file, err := outputFile("--junit", f.junit)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if err := report.JUnit(&text, result); err != nil {
		return err
	}
	return replaceFile(file, text.Bytes())
}

// ended tells a run that reached its limit from one that was interrupted or failed.
func (a *app) ended(ctx context.Context, c *cobra.Command, f failoverFlags, err error) error {
	if f.limit > 0 && errors.Is(ctx.Err(), context.DeadlineExceeded) && c.Context().Err() == nil {
		a.message(fmt.Sprintf("the time limit of %s was reached", f.limit), a.again("--time-limit"))
		return verdictError{ExitTimeLimit}
	}
	return err
}

func (a *app) printFailover(result report.Failover, options lab.Options) error {
	if a.json {
		return report.JSON(a.streams.Out, result)
	}
	if err := report.Text(a.streams.Out, result); err != nil {
		return err
	}
	fmt.Fprintf(a.streams.Out, "record: %s\n", result.Run)
	if result.Cut != "" {
		return nil // what to type next stands with the reason
	}
	next := nextFailover(options)
	if kept := keeps(result.Header, options); len(kept) > 0 {
		fmt.Fprintf(a.streams.Out, "the operator keeps %s; back: %s\n", replica.Values(kept), a.typed(replica.Undo(kept)))
		if next = "labctl failover --mode crash"; slices.Contains(options.Modes, fault.Crash) {
			next = "labctl report --format html --output run.html"
		}
	}
	next = cmp.Or(a.nextInExercise(), next) // while an exercise is open, its check comes next
	_, err := fmt.Fprintf(a.streams.Out, "next: %s\n", a.typed(next))
	return err
}

// nextFailover is what to type after a run: more of the same.
func nextFailover(options lab.Options) string {
	next := "labctl failover --force --trials 10"
	switch f := options.Foreign; {
	case f != nil:
		return fmt.Sprintf("%s --deployment %s/%s --lease %s/%s", next, f.Namespace, f.Deployment, f.LeaseNamespace, f.LeaseName)
	case options.Lanes > 1:
		return fmt.Sprintf("%s --lanes %d", next, options.Lanes)
	default:
		return next + " --timing fast"
	}
}

// keeps is what the lab's operator has and a new one has not; nothing if something else was measured.
func keeps(h report.Header, options lab.Options) []replica.Difference {
	if options.Lanes > 1 || h.Foreign {
		return nil
	}
	d := replica.Default()
	kept := options.Set.On(d) // the record has no guards, nor what is done after a loss: those that were set now
	kept.Timing, kept.Election, kept.Identity, kept.ReleaseOnCancel = h.Timing, string(h.Election), string(h.Identity), h.ReleaseOnCancel == nil || *h.ReleaseOnCancel
	return d.Differences(kept)
}

// trialLine tells a finished trial in one line.
func trialLine(n, of int, t timeline.Trial) string {
	line := fmt.Sprintf("trial %d of %d: %s, %s", n, of, t.Mode, t.Class)
	if t.LockGapSeconds != nil {
		line += fmt.Sprintf(", lock gap %.2f s", *t.LockGapSeconds)
	}
	if t.GapSeconds != nil {
		line += fmt.Sprintf(", user gap %.2f s", *t.GapSeconds)
	}
	if t.Winner != "" {
		line += ", winner " + string(t.Winner)
	}
	if t.Void != "" {
		line += ": " + t.Void
	}
	return line
}
