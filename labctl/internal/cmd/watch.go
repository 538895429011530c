package cmd

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"academy.example/lab/labctl/internal/report"
	"academy.example/lab/labctl/internal/timeline"
)

func (a *app) watchCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "watch",
		Short: "Follow the Lease live, one line for each event, until Ctrl-C",
		Args:  noArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return a.watch(c) },
	}
}

func (a *app) watch(c *cobra.Command) error {
	l, err := a.open(c.Context(), func(string) {})
	if err != nil {
		return err
	}
	if a.json {
		encoder := json.NewEncoder(a.streams.Out)
		return l.Watch(c.Context(), func(e timeline.Event) { encoder.Encode(e) })
	}
	var narrator report.Narrator
	return l.Watch(c.Context(), func(e timeline.Event) {
		if line := narrator.Line(e); line != "" {
			fmt.Fprintln(a.streams.Out, line)
		}
	})
}
