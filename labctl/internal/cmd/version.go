package cmd

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"academy.example/lab/labctl/internal/provider"
	"academy.example/lab/labctl/internal/report"
)

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			if a.json {
				return report.JSON(a.streams.Out, map[string]string{"schema": report.Schema, "kind": "Version", "labctl": provider.Version(), "go": runtime.Version(), "platform": runtime.GOOS + "/" + runtime.GOARCH})
			}
			_, err := fmt.Fprintf(a.streams.Out, "labctl %s (%s, %s/%s)\n", provider.Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}
