package cmd

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"academy.example/lab/labctl/internal/report"
)

func (a *app) scaleCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "scale N",
		Short: "Run N replicas of the operator and wait for them",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usageError{command: c.CommandPath(), err: fmt.Errorf("scale takes one argument, the number of replicas")}
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return a.scale(c, args[0]) },
	}
}

func (a *app) scale(c *cobra.Command, word string) error {
	n, err := strconv.Atoi(word)
	if err != nil {
		return usageError{command: c.CommandPath(), err: fmt.Errorf("%q is not a number of replicas", word)}
	}
	if err := checkReplicas(n, "labctl scale 2"); err != nil {
		return err
	}
	a.left = "labctl status"
	show := newProgress(a.streams.Err)
	defer show.Stop()
	l, err := a.open(c.Context(), show.Say)
	if err == nil {
		err = l.Scale(c.Context(), n)
	}
	if err != nil {
		show.Stop()
		return err
	}
	s, err := l.Status(c.Context())
	show.Stop()
	if err != nil {
		return err
	}
	if a.json {
		return report.JSON(a.streams.Out, s)
	}
	fmt.Fprintf(a.streams.Out, "the operator is scaled to %d; the same with kubectl:\n  kubectl -n %s scale deploy %s --replicas=%d\n", n, l.Deployment.Namespace, l.Deployment.Name, n)
	a.printStatus(s)
	return nil
}
