package cmd

import (
	"fmt"

	"github.com/spf13/cobra"

	"academy.example/lab/labctl/internal/check"
	"academy.example/lab/labctl/internal/lab"
	"academy.example/lab/labctl/internal/report"
)

func (a *app) doctorCommand() *cobra.Command {
	var on, image string
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Examine the machine and the lab, and say what to do about what is wrong",
		Args:  noArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return a.doctor(c, on, image) },
	}
	c.Flags().StringVar(&on, "provider", "auto", "what to examine: auto, embedded, kind or existing")
	c.Flags().StringVar(&image, "image", "", "on kind: the node image to look for")
	return c
}

// doctorResult is what `doctor --json` prints.
type doctorResult struct {
	Schema  string        `json:"schema"`
	Kind    string        `json:"kind"`
	Name    string        `json:"name"`
	Checks  []check.Check `json:"checks"`
	Verdict check.Verdict `json:"verdict"`
}

func (a *app) doctor(c *cobra.Command, on, image string) error {
	p, err := a.examined(c.Context(), on)
	if err != nil {
		return err
	}
	checks := lab.Doctor(c.Context(), p, a.name, image)
	verdict := check.Overall(checks)
	if a.json {
		if err := report.JSON(a.streams.Out, doctorResult{report.Schema, "Doctor", a.name, checks, verdict}); err != nil {
			return err
		}
		return exitFor(verdict)
	}
	for _, k := range checks {
		fmt.Fprintf(a.streams.Out, "%-8s %-11s %s\n", k.Verdict, k.Name, k.Reason)
		if k.Hint != "" {
			fmt.Fprintf(a.streams.Out, "%-8s %-11s hint: %s\n", "", "", a.typed(k.Hint))
		}
	}
	return exitFor(verdict)
}
