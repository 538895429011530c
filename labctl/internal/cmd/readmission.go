package cmd

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"academy.example/lab/labctl/internal/lab"
	"academy.example/lab/labctl/internal/report"
	"academy.example/lab/labctl/internal/timeline"
	"academy.example/lab/manifests"
	"academy.example/lab/operator/lease/heartbeat"
	"academy.example/lab/operator/lease/readmission"
)

func (a *app) readmissionCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "readmission",
		Short: "A gate that opens only for a controller with a heartbeat: a queue, its check, and both sides of it",
		Long: "readmission puts a ClusterQueue and an AdmissionCheck into the lab's cluster, in Kueue's words and without Kueue, and plays the two\n" +
			"sides: the controller that answers the check while it leads, and the adapter that hands jobs to the queue if the controller's\n" +
			"Lease had a heartbeat when it was opened.",
		Example: "  labctl readmission install\n  labctl readmission controller      # in a second terminal\n  labctl readmission status\n  labctl readmission adapter         # in a third",
		Args:    cobra.ArbitraryArgs,
		RunE:    group,

		SuggestionsMinimumDistance: 2,
	}
	c.AddCommand(
		&cobra.Command{Use: "install", Short: "Make the kinds, the queue, the check and the namespace " + readmission.LeaseNamespace, Args: noArgs,
			RunE: func(c *cobra.Command, _ []string) error { return a.readmissionInstall(c.Context()) }},
		&cobra.Command{Use: "remove", Short: "Delete all that install made, the jobs with it", Args: noArgs,
			RunE: func(c *cobra.Command, _ []string) error { return a.readmissionRemove(c.Context()) }},
		&cobra.Command{Use: "status", Short: "Look at the gate once, the Lease last. Exit code 0: yes, 1: no, 2: unknown", Args: noArgs,
			RunE: func(c *cobra.Command, _ []string) error { return a.readmissionStatus(c.Context()) }},
		a.controllerCommand(), a.adapterCommand())
	return c
}

func (a *app) readmissionInstall(ctx context.Context) error {
	show := newProgress(a.streams.Err)
	defer show.Stop()
	l, err := a.open(ctx, show.Say)
	if err == nil {
		err = installReadmission(ctx, l)
	}
	show.Stop()
	if err != nil {
		return err
	}
	if a.json {
		return report.JSON(a.streams.Out, map[string]any{"schema": report.Schema, "kind": "ReadmissionInstalled", "queue": readmission.Queue, "check": readmission.Check})
	}
	_, err = fmt.Fprintf(a.streams.Out, "ClusterQueue %s lists AdmissionCheck %s, which names %s. Nobody has answered it yet.\nnext: %s\n",
		readmission.Queue, readmission.Check, readmission.Controller, a.typed("labctl readmission status"))
	return err
}

// installReadmission installs it while no other labctl is at work.
func installReadmission(ctx context.Context, l *lab.Lab) error {
	release, err := lab.Alone(l.Cluster, "installing the readmission gate")
	if err != nil {
		return err
	}
	defer release()
	return l.InstallReadmission(ctx, manifests.Readmission)
}

func (a *app) readmissionRemove(ctx context.Context) error {
	show := newProgress(a.streams.Err)
	defer show.Stop()
	removed := false
	l, err := a.open(ctx, show.Say)
	if err == nil {
		removed, err = removeReadmission(ctx, l)
	}
	show.Stop()
	if err != nil {
		return err
	}
	if a.json {
		return report.JSON(a.streams.Out, map[string]any{"schema": report.Schema, "kind": "ReadmissionRemoved", "found": removed})
	}
	if !removed {
		_, err = fmt.Fprintln(a.streams.Out, "there was nothing of it")
		return err
	}
	_, err = fmt.Fprintln(a.streams.Out, "the queue, the check, their kinds and the jobs are gone")
	return err
}

// gateResult is what `readmission status --json` prints.
type gateResult struct {
	Schema string `json:"schema"`
	Kind   string `json:"kind"`
	readmission.Preflight
}

func (a *app) readmissionStatus(ctx context.Context) error {
	l, err := a.open(ctx, func(string) {})
	if err != nil {
		return err
	}
	gate, err := l.Gate()
	if err != nil {
		return err
	}
	p := gate.Preflight(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if a.json {
		err = report.JSON(a.streams.Out, gateResult{report.Schema, "ReadmissionGate", p})
	} else {
		err = a.printReadmission(p)
	}
	if err != nil {
		return err
	}
	return exitFor(verdictOf(p.Verdict))
}

var stepWords = map[string]string{
	readmission.StepListed: "the queue lists the check", readmission.StepController: "the check names the controller",
	readmission.StepActive: "the check is Active, which proves nothing", readmission.StepLease: "the controller's Lease has a heartbeat",
}

// stepNeeds is what a step gets, as kubectl auth can-i takes it.
var stepNeeds = map[string]string{
	readmission.StepListed: "clusterqueues." + readmission.Group, readmission.StepController: "admissionchecks." + readmission.Group,
	readmission.StepLease: "leases.coordination.k8s.io -n " + readmission.LeaseNamespace,
}

func (a *app) printReadmission(p readmission.Preflight) error {
	out := a.streams.Out
	fmt.Fprintf(out, "ReadmissionGate: %s\n", p.Verdict)
	for _, s := range p.Steps {
		fmt.Fprintf(out, "  %-8s %s\n", s.Verdict, stepWords[s.Name])
	}
	next := "labctl readmission adapter"
	if p.Verdict == heartbeat.Yes {
		_, err := fmt.Fprintf(out, "means: an adapter opened now would hand over jobs\nnext: %s\n", a.typed(next))
		return err
	}
	switch last := p.Steps[len(p.Steps)-1]; {
	case p.Verdict == heartbeat.Unknown && strings.HasPrefix(p.Reason, "may not get"):
		next = "kubectl auth can-i get " + stepNeeds[last.Name]
	case p.Verdict == heartbeat.Unknown:
		next = "labctl doctor"
	case last.Name == readmission.StepListed || last.Name == readmission.StepController:
		next = "labctl readmission install"
	default:
		next = "labctl readmission controller"
	}
	_, err := fmt.Fprintf(out, "reason: %s\nmeans: an adapter opened now would only observe\nnext: %s\n", timeline.Visible(p.Reason), a.typed(next))
	return err
}

type adapterFlags struct {
	jobs  int
	lasts time.Duration
}

func (a *app) adapterCommand() *cobra.Command {
	var f adapterFlags
	c := &cobra.Command{
		Use:   "adapter",
		Short: "Be the adapter: look at the gate once, then hand over jobs or only observe, and show why jobs wait",
		Long: "adapter looks at the gate once. If it is yes, it hands over a job now and then; otherwise it only observes. Either way it shows every\n" +
			"two seconds what each job waits for. It does not look at the gate again: start another one to do so.\n\nExit code 0: it was open; 1: observe-only; 2: observe-only, since the gate was unknown.",
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.readmissionAdapter(c, f) },
	}
	c.Flags().IntVar(&f.jobs, "jobs", 1, "how many jobs to hand over, one every two seconds")
	c.Flags().DurationVar(&f.lasts, "for", 0, "end after this long; 0 goes on until Ctrl-C")
	return c
}

// adapterLook is what `readmission adapter --json` prints, one a line.
type adapterLook struct {
	Schema      string            `json:"schema"`
	Kind        string            `json:"kind"`
	ObserveOnly bool              `json:"observeOnly"`
	Reason      string            `json:"reason"` // empty if open
	Jobs        []readmission.Job `json:"jobs"`
}

// lookEvery is how often an adapter shows its jobs.
const lookEvery = 2 * time.Second

func (a *app) readmissionAdapter(c *cobra.Command, f adapterFlags) error {
	if f.jobs < 0 || f.jobs > 100 || f.lasts < 0 {
		return usageError{command: c.CommandPath(), err: errors.New("--jobs is between 0 and 100, and --for is not negative")}
	}
	ctx := c.Context()
	l, err := a.open(ctx, func(string) {})
	if err != nil {
		return err
	}
	gate, err := l.Gate()
	if err != nil {
		return err
	}
	adapter := readmission.Open(ctx, gate)
	if err := a.adapterLoop(ctx, l, adapter, f); err != nil {
		return err
	}
	return exitFor(verdictOf(adapter.Preflight().Verdict))
}

func (a *app) adapterLoop(ctx context.Context, l *lab.Lab, adapter *readmission.Adapter, f adapterFlags) error {
	opened := time.Now()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for n := 1; ; n++ {
		if n <= f.jobs && !adapter.ObserveOnly() {
			if err := adapter.Submit(ctx, readmission.LeaseNamespace, fmt.Sprintf("job-%d-%d", opened.Unix(), n)); err != nil {
				return err
			}
		}
		jobs, err := adapter.Inspect(ctx, readmission.LeaseNamespace)
		if err != nil {
			if err := cmp.Or(l.Lost(ctx), ctx.Err()); err != nil {
				return err
			}
			if !adapter.ObserveOnly() {
				return err
			}
			jobs = []readmission.Job{} // it has said why it only observes
		}
		if err := a.tellAdapter(adapter, jobs, time.Since(opened)); err != nil {
			return err
		}
		if f.lasts > 0 && time.Since(opened)+lookEvery > f.lasts {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (a *app) tellAdapter(adapter *readmission.Adapter, jobs []readmission.Job, age time.Duration) error {
	p := adapter.Preflight()
	if a.json {
		return json.NewEncoder(a.streams.Out).Encode(adapterLook{report.Schema, "ReadmissionAdapter", adapter.ObserveOnly(), p.Reason, jobs})
	}
	mode := "open"
	if adapter.ObserveOnly() {
		mode = "observe-only: " + timeline.Visible(p.Reason)
	}
	_, err := fmt.Fprintf(a.streams.Out, "%s  %s (looked at %.0f s ago, and not since)\n", time.Now().Format(time.TimeOnly), mode, age.Seconds())
	for _, j := range jobs {
		waits := ""
		if j.WaitingSeconds != nil {
			waits = fmt.Sprintf(" for %.0f s", *j.WaitingSeconds)
		}
		_, err = fmt.Fprintf(a.streams.Out, "  %s  %s %s%s: %s\n", timeline.Visible(j.Name), j.Check, timeline.Visible(j.State), waits, timeline.Visible(j.Message))
	}
	return err
}
