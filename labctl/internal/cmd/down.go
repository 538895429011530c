package cmd

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"academy.example/lab/labctl/internal/lab"
	"academy.example/lab/labctl/internal/report"
)

func (a *app) downCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "down",
		Short: "Remove the lab; the recorded runs stay",
		Args:  noArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return a.down(c) },
	}
}

// downResult is what `down --json` prints.
type downResult struct {
	Schema string `json:"schema"`
	Kind   string `json:"kind"`
	Name   string `json:"name"`
	// Found is whether there was a lab to remove.
	Found bool `json:"found"`
}

func (a *app) down(c *cobra.Command) error {
	a.left = "labctl down"
	show := newProgress(a.streams.Err)
	defer show.Stop()
	show.Say(fmt.Sprintf("removing lab %q", a.name))
	found, left := false, "no process, socket or state is left"
	for _, p := range a.providers {
		was, err := p.Down(c.Context(), a.name, show.Say)
		if err != nil {
			show.Stop()
			return err
		}
		if was && p.Name() == "existing" {
			left = "the cluster is as it was found"
		}
		found = found || was
	}
	show.Stop()
	if a.json {
		return report.JSON(a.streams.Out, downResult{Schema: report.Schema, Kind: "Down", Name: a.name, Found: found})
	}
	runs, err := lab.RunsDir()
	if err != nil {
		return err
	}
	if !found {
		fmt.Fprintf(a.streams.Out, "there was no lab %q; nothing is left of it\n", a.name)
		return nil
	}
	fmt.Fprintf(a.streams.Out, "lab %q is removed: %s. Recorded runs stay in %s\n", a.name, left, runs)
	if os.Getenv("KUBECACHEDIR") != "" {
		fmt.Fprintf(a.streams.Out, "this shell still has the lab's KUBECONFIG; it works again after %s, or type: unset KUBECONFIG KUBECACHEDIR\n", a.typed("labctl up"))
	}
	return nil
}
