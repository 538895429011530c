package cmd

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

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
	if s.Program != "" {
		fmt.Fprintf(out, "operator: %s, which is not the lab's own (%s puts that back)\n", shown(s.Program), a.typed("labctl reset"))
	}
	if len(s.Lanes) > 0 {
		fmt.Fprintf(out, "lanes: another labctl measures replicas in %s\n", shown(strings.Join(s.Lanes, ", ")))
	}
	fmt.Fprintf(out, "election %s, identity %s, ReleaseOnCancel %t\n", s.Settings.Election, s.Settings.Identity, s.Settings.ReleaseOnCancel)
	if s.Settings.Election == api.ElectionGuarded {
		fmt.Fprintf(out, "on loss %s, guards %s\n", s.Settings.OnLoss, s.Settings.Guards)
	}
	if s.Settings.Election == api.ElectionCoordinated {
		fmt.Fprintf(out, "version %s, elected by the API server\n", s.Settings.BinaryVersion)
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
			age = renewedWhen(*s.RenewAgeSeconds, s.Lease.RenewTime)
		}
		fmt.Fprintf(out, "Lease %s/%s is held by %s, %s; leaseTransitions %d\n", s.Namespace, s.Settings.LeaseName, shown(s.Lease.Holder), age, s.Lease.Transitions)
		if s.Lease.PreferredHolder != "" {
			fmt.Fprintf(out, "the API server wants %s to hold it instead: the holder ends, and is not renewed any more\n", shown(s.Lease.PreferredHolder))
		}
		if s.HolderGone {
			fmt.Fprintln(out, holderGone(s))
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

// renewedWhen says when a renewTime was, by this machine's clock. One that is a day off was written by no candidate of today.
func renewedWhen(age float64, at time.Time) string {
	switch {
	case age < -1 || age > (24*time.Hour).Seconds():
		return "renewTime is " + at.UTC().Format(time.RFC3339)
	default:
		return fmt.Sprintf("renewed %.1f s ago", max(0, age))
	}
}

// holderGone says what a holder is that is none of the replicas, and what follows.
func holderGone(s lab.Status) string {
	who := timeline.Visible(s.Lease.Holder) + " is no replica that is there: nobody leads."
	lasts := float64(s.Lease.LeaseDurationSeconds)
	if age := s.RenewAgeSeconds; age != nil && *age > lasts && *age < (24*time.Hour).Seconds() {
		return fmt.Sprintf("%s A candidate that has seen the record since it was written could have taken it for %.0f s", who, *age-lasts)
	}
	return fmt.Sprintf("%s A candidate may take the Lease %ds after it last saw it change", who, s.Lease.LeaseDurationSeconds)
}
