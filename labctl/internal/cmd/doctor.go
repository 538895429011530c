package cmd

import (
	"fmt"

	"github.com/spf13/cobra"

	"academy.example/lab/labctl/internal/check"
	"academy.example/lab/labctl/internal/lab"
	"academy.example/lab/labctl/internal/report"
)

func (a *app) doctorCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Examine the machine and the lab, and say what to do about what is wrong",
		Args:  noArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return a.doctor(c) },
	}
}

// doctorResult is what `doctor --json` prints.
type doctorResult struct {
	Schema  string        `json:"schema"`
	Kind    string        `json:"kind"`
	Name    string        `json:"name"`
	Checks  []check.Check `json:"checks"`
	Verdict check.Verdict `json:"verdict"`
}

func (a *app) doctor(c *cobra.Command) error {
	var checks []check.Check
	for _, p := range a.providers {
		checks = append(checks, lab.Doctor(c.Context(), p, a.name)...)
	}
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
