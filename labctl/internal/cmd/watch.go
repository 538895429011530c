package cmd

import (
	"context"
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
	ctx, cancel := context.WithCancel(c.Context())
	defer cancel()
	var narrator report.Narrator
	encoder := json.NewEncoder(a.streams.Out)
	return l.Watch(ctx, func(e timeline.Event) {
		var err error
		if a.json {
			err = encoder.Encode(e)
		} else if line := narrator.Line(e); line != "" {
			_, err = fmt.Fprintln(a.streams.Out, line)
		}
		if err != nil {
			cancel() // nobody reads any more
		}
	})
}
