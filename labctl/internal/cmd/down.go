package cmd

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"academy.example/lab/labctl/internal/lab"
	"academy.example/lab/labctl/internal/provider"
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
	show := newProgress(a.streams.Err)
	defer show.Stop()
	show.Say("removing lab " + a.name)
	found := false
	for _, p := range a.providers {
		_, err := p.Find(c.Context(), a.name)
		found = found || !errors.Is(err, provider.ErrNoLab)
		if err := p.Down(c.Context(), a.name); err != nil {
			show.Stop()
			return err
		}
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
		fmt.Fprintf(a.streams.Out, "there was no lab %s; nothing is left of it\n", a.name)
		return nil
	}
	fmt.Fprintf(a.streams.Out, "lab %s is gone: no process, socket or state is left. Recorded runs stay in %s\n", a.name, runs)
	return nil
}
