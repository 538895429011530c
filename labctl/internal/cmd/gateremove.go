package cmd

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"academy.example/lab/labctl/internal/gatelab"
	"academy.example/lab/labctl/internal/lab"
	"academy.example/lab/labctl/internal/report"
	"academy.example/lab/manifests"
)

func (a *app) gateRemoveCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "remove",
		Short: "Delete all that gate run made: the manager, the objects, their Jobs and leases, the kinds",
		Long: "remove deletes all that gate run made, and nothing that lacks the lab's label. The kinds stay if another namespace has objects of\n" +
			"them. On an existing cluster do it before labctl down, which removes only its own namespace there.",
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.gateRemove(c.Context()) },
	}
}

// gateRemoveResult is what `gate remove --json` prints.
type gateRemoveResult struct {
	Schema string `json:"schema"`
	Kind   string `json:"kind"`
	gatelab.Removed
}

func (a *app) gateRemove(ctx context.Context) error {
	a.left = "labctl gate remove"
	show := newProgress(a.streams.Err)
	defer show.Stop()
	g, err := a.openGate(ctx, show.Say)
	if err != nil {
		return err
	}
	removed, err := g.Remove(ctx)
	show.Stop()
	if err != nil {
		return err
	}
	if a.json {
		return report.JSON(a.streams.Out, gateRemoveResult{report.Schema, "GateRemoved", removed})
	}
	text := "there was nothing of it"
	if removed.Found {
		text = "the gate, its objects, their Jobs and leases are gone"
	}
	if removed.KindsStay != "" {
		text += "; " + removed.KindsStay
	}
	_, err = fmt.Fprintf(a.streams.Out, "%s\nnext: %s\n", text, a.typed("labctl gate run"))
	return err
}

// removeGates takes both gates, the operation gate and the readmission gate, from a lab that is to be as it was made, and notes what it
// took. Who may not look at kinds has made none.
func (a *app) removeGates(ctx context.Context, l *lab.Lab) error {
	g, err := gatelab.Open(l)
	if err != nil {
		return err
	}
	removed, err := g.Remove(ctx)
	if err != nil {
		return err
	}
	if removed.Found {
		fmt.Fprintln(a.streams.Err, "note: the operation gate was removed, with its objects, Jobs and leases")
	}
	if removed.KindsStay != "" {
		fmt.Fprintf(a.streams.Err, "note: %s\n", removed.KindsStay)
	}
	found, err := removeReadmission(ctx, l)
	if err != nil && !apierrors.IsForbidden(err) {
		return err
	}
	if found {
		fmt.Fprintln(a.streams.Err, "note: the readmission gate was removed, with its jobs")
	}
	return nil
}

// removeReadmission takes the readmission gate away while no other labctl is at work.
func removeReadmission(ctx context.Context, l *lab.Lab) (found bool, err error) {
	release, err := lab.Alone(l.Cluster, "removing the readmission gate")
	if err != nil {
		return false, err
	}
	defer release()
	return l.RemoveReadmission(ctx, manifests.Readmission)
}
