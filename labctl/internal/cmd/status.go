package cmd

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"academy.example/lab/labctl/internal/lab"
	"academy.example/lab/labctl/internal/report"
	"academy.example/lab/labctl/internal/timeline"
	"academy.example/lab/operator/api"
)

func (a *app) statusCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show the holder, the age of its renewal, the durations and the replicas",
		Args:  noArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return a.status(c.Context()) },
	}
}

// open finds the lab that --name names.
func (a *app) open(ctx context.Context, say func(string)) (*lab.Lab, error) {
	p, err := a.home(ctx)
	if err != nil {
		return nil, err
	}
	l, err := lab.Open(ctx, p, a.name, say)
	if err != nil {
		return nil, err
	}
	if removed := l.Tidy(ctx); removed != "" {
		fmt.Fprintf(a.streams.Err, "note: %s\n", removed)
	}
	return l, nil
}

func (a *app) status(ctx context.Context) error {
	l, err := a.open(ctx, func(string) {})
	if err != nil {
		return err
	}
	s, err := l.Status(ctx)
	if err != nil {
		return err
	}
	if a.json {
		return report.JSON(a.streams.Out, s)
	}
	fmt.Fprintf(a.streams.Out, "lab %q: provider %s, Kubernetes %s at %s\n", s.Name, s.Provider, s.Kubernetes, s.Server)
	a.printStatus(s)
	fmt.Fprintf(a.streams.Out, "\nnext: %s\n", a.typed(s.Next()))
	return nil
}

func (a *app) printStatus(s lab.Status) {
	out, shown := a.streams.Out, timeline.Visible
	fmt.Fprintf(out, "election %s, identity %s, ReleaseOnCancel %t\n", s.Settings.Election, s.Settings.Identity, s.Settings.ReleaseOnCancel)
	if s.Settings.Election == api.ElectionGuarded {
		fmt.Fprintf(out, "on loss %s, guards %s\n", s.Settings.OnLoss, guardsOn(s.Settings.Guards))
	}
	t := s.Settings.Timing
	fmt.Fprintf(out, "LeaseDuration %s   RenewDeadline %s   RetryPeriod %s\n", t.LeaseDuration, t.RenewDeadline, t.RetryPeriod)
	switch {
	case s.Lease == nil:
		fmt.Fprintf(out, "Lease %s/%s does not exist yet\n", s.Namespace, s.Settings.LeaseName)
	case s.Lease.Holder == "":
		fmt.Fprintf(out, "Lease %s/%s has no holder: it was released; leaseTransitions %d\n", s.Namespace, s.Settings.LeaseName, s.Lease.Transitions)
	default:
		age := "never renewed"
		if s.RenewAgeSeconds != nil {
			age = fmt.Sprintf("renewed %.1f s ago", *s.RenewAgeSeconds)
		}
		fmt.Fprintf(out, "Lease %s/%s is held by %s, %s; leaseTransitions %d\n", s.Namespace, s.Settings.LeaseName, shown(s.Lease.Holder), age, s.Lease.Transitions)
		if s.HolderGone {
			fmt.Fprintf(out, "that pod is gone: nobody leads. A candidate may take the Lease %ds after it last saw it change\n", s.Lease.LeaseDurationSeconds)
		}
	}
	rollout := ""
	if s.Ready >= s.Replicas && !s.Settled {
		rollout = ", but old ones are still there: a rollout is not finished"
	}
	fmt.Fprintf(out, "%d of %d replicas ready%s\n", s.Ready, s.Replicas, rollout)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, p := range s.Pods {
		role := "standby"
		if s.Lease != nil && p.Holds(s.Lease.Holder) {
			role = "holder"
		}
		state := p.Phase
		switch {
		case p.Terminating:
			state = "terminating"
		case p.Ready:
			state = "ready"
		}
		fmt.Fprintf(table, "  %s\t%s\t%s\trestarts %d\n", shown(p.Name), role, shown(state), p.Restarts)
	}
	table.Flush()
}

// guardsOn names the protections that are on: "all", or those that are left.
func guardsOn(g api.Guards) string {
	if g == api.AllGuards() {
		return "all"
	}
	var on []string
	for _, each := range g.Each() {
		if *each.On {
			on = append(on, strings.TrimPrefix(each.Flag, "guard-"))
		}
	}
	return cmp.Or(strings.Join(on, ", "), "none")
}
