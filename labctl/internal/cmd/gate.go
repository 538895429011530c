package cmd

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"academy.example/lab/labctl/internal/check"
	"academy.example/lab/labctl/internal/gatelab"
	"academy.example/lab/labctl/internal/lab"
	"academy.example/lab/labctl/internal/provider"
	"academy.example/lab/labctl/internal/report"
	"academy.example/lab/manifests"
	"academy.example/lab/operator/api"
)

func (a *app) gateCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "gate",
		Short: "The Lease as a job lock and operation gate: drive it, look at it, check its protocol",
		Args:  cobra.ArbitraryArgs,
		RunE:  group,

		SuggestionsMinimumDistance: 2,
	}
	c.AddCommand(a.gateRunCommand(), a.gateStatusCommand(), a.gateCheckCommand(), a.gateRemoveCommand())
	return c
}

type gateRunFlags struct {
	scenario                            string
	operations, seconds, clusterSeconds int
	every, rest, limit                  time.Duration
	gated                               bool
}

// The scenarios of gate run.
const (
	scenarioFlow  = "flow"
	scenarioGap   = "gap"
	scenarioCrash = "crash"
)

// mostLimit is the longest that a flow may last.
const mostLimit = 2 * time.Hour

// gatePause is how long the manager waits before a Job where it is to be killed in between.
const gatePause = 20 * time.Second

func (a *app) gateRunCommand() *cobra.Command {
	var f gateRunFlags
	c := &cobra.Command{
		Use:   "run",
		Short: "Install the gate on the lab, and run operations that get in each other's way",
		Long: "run applies the gate's CRDs, its Role and its manager, and then a scenario:\n" +
			"  flow   a machine is made every second while a cluster applies again and again; no two may overlap that must not\n" +
			"  gap    the inputs of a cluster change while it waits for a machine: how long it blocks itself\n" +
			"  crash  the manager is killed between a lease and its Job: how long the lease keeps another Job away\n" +
			"It removes what an earlier run left, and leaves its own to be looked at; gate remove takes all of it away.\n\n" +
			"Exit code 0: all was done, and as it has to be; 1: it was not as it has to be; 2: unknown, since not all was done or seen.",
		Example: "  labctl gate run --operations 200\n  labctl gate run --scenario gap\n  labctl gate run --cluster-operation-gate=false --operations 40",
		Args:    noArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return a.gateRun(c, f) },
	}
	c.Flags().StringVar(&f.scenario, "scenario", scenarioFlow, "flow, gap or crash")
	c.Flags().IntVar(&f.operations, "operations", 40, "Jobs in all, 2 to 500")
	c.Flags().DurationVar(&f.every, "every", time.Second, "a machine is made, 100ms to 1m")
	c.Flags().IntVar(&f.seconds, "seconds", 3, "that the Job of a machine works, 1 to 3600")
	c.Flags().IntVar(&f.clusterSeconds, "cluster-seconds", 5, "that the Job of the cluster works, 1 to 3600")
	c.Flags().DurationVar(&f.rest, "rest", 35*time.Second, "how long after an operation of the cluster its inputs change again, 0s to 1h; machines that wait look every 30s")
	c.Flags().DurationVar(&f.limit, "limit", 10*time.Minute, "when a flow ends in any case, 1s to 2h")
	c.Flags().BoolVar(&f.gated, api.FlagClusterGate, true, "what the manager runs with; without it only the run lease is taken, and overlaps are allowed")
	return c
}

// gateRunResult is what `gate run --json` prints.
type gateRunResult struct {
	Schema   string             `json:"schema"`
	Kind     string             `json:"kind"`
	Provider string             `json:"provider"`
	Scenario string             `json:"scenario"`
	Gated    bool               `json:"gated"`
	Flow     *gatelab.Judgement `json:"flow"`     // of a flow
	Measured *gatelab.Measured  `json:"measured"` // of the others
	Verdict  check.Verdict      `json:"verdict"`
	Reason   string             `json:"reason"`
}

func (f gateRunFlags) check() error {
	wrong := func(hint, format string, args ...any) error {
		return &provider.Problem{Err: fmt.Errorf(format, args...), Hint: "labctl gate run " + hint}
	}
	switch {
	case f.scenario != scenarioFlow && f.scenario != scenarioGap && f.scenario != scenarioCrash:
		return wrong("--scenario flow", "--scenario %q is none of flow, gap and crash", f.scenario)
	case f.operations < 2 || f.operations > 500:
		return wrong("--operations 40", "--operations %d is not between 2 and 500", f.operations)
	case f.every < 100*time.Millisecond || f.every > time.Minute:
		return wrong("--every 1s", "--every %s is not between 100ms and 1m", f.every)
	case f.rest < 0 || f.rest > time.Hour:
		return wrong("--rest 35s", "--rest %s is not between 0s and 1h", f.rest)
	case f.limit < time.Second || f.limit > mostLimit:
		return wrong("--limit 10m", "--limit %s is not between 1s and 2h", f.limit)
	case f.seconds < 1 || f.clusterSeconds < 1 || f.seconds > 3600 || f.clusterSeconds > 3600:
		return wrong("--seconds 3 --cluster-seconds 5", "a Job works for 1 to 3600 seconds, and not for %d and %d", f.seconds, f.clusterSeconds)
	case f.scenario != scenarioFlow && !f.gated:
		return wrong("--scenario "+f.scenario, "without the gate there is nothing to measure with --scenario %s", f.scenario)
	}
	return nil
}

func (a *app) gateRun(c *cobra.Command, f gateRunFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	for _, name := range []string{"operations", "every", "seconds", "cluster-seconds", "rest", "limit"} {
		if f.scenario != scenarioFlow && c.Flags().Changed(name) {
			return &provider.Problem{Err: fmt.Errorf("--%s is of the scenario flow; %s takes none of it", name, f.scenario), Hint: "labctl gate run --scenario " + f.scenario}
		}
	}
	a.left = "labctl gate status"
	show := newProgress(a.streams.Err)
	defer show.Stop()
	g, err := a.openGate(c.Context(), show.Say)
	if err != nil {
		return err
	}
	release, err := lab.Alone(g.Cluster, "running the gate")
	if err != nil {
		return err
	}
	defer release()
	args := []string{fmt.Sprintf("--%s=%t", api.FlagClusterGate, f.gated)}
	if f.scenario == scenarioCrash {
		args = append(args, fmt.Sprintf("--%s=%s", api.FlagGatePause, gatePause))
	}
	if err := g.Install(c.Context(), manifests.FS, args); err != nil {
		return err
	}
	result, next, err := runScenario(c.Context(), g, f)
	show.Stop()
	if err != nil {
		return meanwhile(err)
	}
	if result.Verdict == check.Pass {
		if err := g.Note(c.Context(), f.scenario, time.Now()); err != nil {
			return err
		}
	}
	if a.json {
		err = report.JSON(a.streams.Out, result)
	} else {
		lines := a.gateNext(next, g.Namespace, f)
		if check := a.nextInExercise(); check != "" {
			lines = append([]string{check}, lines...)
		}
		err = a.printGateRun(result, lines)
	}
	if err != nil {
		return err
	}
	return exitFor(result.Verdict)
}

func (a *app) openGate(ctx context.Context, say func(string)) (*gatelab.Lab, error) {
	l, err := a.open(ctx, say)
	if err != nil {
		return nil, err
	}
	return gatelab.Open(l)
}

// runScenario runs and judges one scenario. next is what leads on.
func runScenario(ctx context.Context, g *gatelab.Lab, f gateRunFlags) (r gateRunResult, next gateNext, err error) {
	r = gateRunResult{Schema: report.Schema, Kind: "Gate", Provider: g.Cluster.Provider, Scenario: f.scenario, Gated: f.gated}
	if f.scenario == scenarioFlow {
		flow, err := g.Flow(ctx, gatelab.Options{Operations: f.operations, Every: f.every, Seconds: f.seconds, ClusterSeconds: f.clusterSeconds, Rest: f.rest, Limit: f.limit})
		if err != nil {
			return r, "", err
		}
		r.Flow = &flow
		r.Verdict, r.Reason, next = judgeFlow(flow, f.gated)
		return r, next, nil
	}
	measure, most := g.Gap, 95.0 // the grace, the wait for the next pass, and what a busy machine adds
	if f.scenario == scenarioCrash {
		measure = g.Crash
	}
	m, err := measure(ctx)
	if err != nil {
		return r, "", err
	}
	r.Measured = &m
	r.Verdict, r.Reason = check.Pass, fmt.Sprintf("the old name kept the lease for longer than the grace of 60 s, and for no more than %.0f s: a pass looks every 30 s, and 5 s are for a busy machine", most)
	if m.SinceRefreshSeconds < 60 || m.SinceRefreshSeconds > most {
		r.Verdict, r.Reason = check.Fail, fmt.Sprintf("%.1f s after the last refresh is not between 60 and %.0f s", m.SinceRefreshSeconds, most)
	}
	return r, "", nil
}

func (a *app) printGateRun(r gateRunResult, next []string) error {
	out := a.streams.Out
	if r.Flow != nil && len(r.Flow.Turns) > 0 {
		table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(table, "CLUSTER JOB\tIN FLIGHT\tBEGUN MEANWHILE\tWAITED\tAFTER THE LAST MACHINE")
		for _, t := range r.Flow.Turns {
			after := "–"
			if t.AfterLastSeconds != nil {
				after = fmt.Sprintf("%.1f s", *t.AfterLastSeconds)
			}
			fmt.Fprintf(table, "%s\t%d\t%d\t%.1f s\t%s\n", t.Job, t.InFlight, t.Begun, t.WaitedSeconds, after)
		}
		if err := table.Flush(); err != nil {
			return err
		}
		fmt.Fprintln(out)
	}
	if m := r.Measured; m != nil {
		fmt.Fprintf(out, "%s never existed, and kept its lease for %.1f s after the last refresh;\n%s was there %.1f s after the inputs had changed", m.OldJob, m.SinceRefreshSeconds, m.NewJob, m.SinceChangeSeconds)
		if r.Scenario == scenarioCrash {
			fmt.Fprintf(out, ", for %s of which the\nmanager waited before the Job: it does so in this scenario, to be killed in between", gatePause)
		}
		fmt.Fprint(out, "\n\n")
	}
	fmt.Fprintf(out, "verdict: %s: %s\nnext:\n", r.Verdict, r.Reason)
	for _, command := range next {
		if _, err := fmt.Fprintf(out, "  %s\n", a.typed(command)); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) gateStatusCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show who holds which run lease and cluster lease, since when, and when another may take it",
		Args:  noArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return a.gateStatus(c.Context()) },
	}
}

// gateStatusResult is what `gate status --json` prints.
type gateStatusResult struct {
	Schema string         `json:"schema"`
	Kind   string         `json:"kind"`
	Leases []gatelab.Held `json:"leases"`
}

func (a *app) gateStatus(ctx context.Context) error {
	g, err := a.openGate(ctx, func(string) {})
	if err != nil {
		return err
	}
	held, err := g.Status(ctx)
	if err != nil {
		return err
	}
	if a.json {
		return report.JSON(a.streams.Out, gateStatusResult{report.Schema, "GateStatus", held})
	}
	if len(held) == 0 {
		_, err := fmt.Fprintf(a.streams.Out, "no lease is held\nnext: %s\n", a.typed("labctl gate run"))
		return err
	}
	table := tabwriter.NewWriter(a.streams.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "TYPE\tOWNER\tOP\tHOLDER\tJOB\tAGE\tFREE")
	for _, h := range held {
		free := "now"
		if !h.Free {
			free = fmt.Sprintf("in %.0f s, or when the Job has finished", h.FreeInSeconds)
		}
		if h.Job == "absent" && !h.Free {
			free = fmt.Sprintf("in %.0f s, unless it is refreshed", h.FreeInSeconds)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%.0f s\t%s\n", h.Type, strings.TrimPrefix(h.Owner, "Terraform"), h.Op, h.Holder, h.Job, h.AgeSeconds, free)
	}
	return table.Flush()
}
