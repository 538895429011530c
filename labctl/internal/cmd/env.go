package cmd

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"academy.example/lab/labctl/internal/report"
)

func (a *app) envCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "env",
		Short: `Print PATH, KUBECONFIG and KUBECACHEDIR for the shell: eval "$(labctl env)"`,
		Args:  noArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return a.env(c) },
	}
}

// envResult is what `env --json` prints.
type envResult struct {
	Schema     string `json:"schema"`
	Kind       string `json:"kind"`
	BinDir     string `json:"binDir"`
	Kubeconfig string `json:"kubeconfig"`
	// KubectlCache is where kubectl keeps what it learned of this API server; it goes with the lab.
	KubectlCache string `json:"kubectlCache"`
}

func (a *app) env(c *cobra.Command) error {
	l, err := a.open(c.Context(), func(string) {})
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the folder of labctl: %w", err)
	}
	result := envResult{Schema: report.Schema, Kind: "Env", BinDir: filepath.Dir(self), Kubeconfig: l.Cluster.Kubeconfig,
		KubectlCache: filepath.Join(l.Cluster.StateDir, "kubectl")}
	if a.json {
		return report.JSON(a.streams.Out, result)
	}
	fmt.Fprintf(a.streams.Out, "export PATH=%s:\"$PATH\"\nexport KUBECONFIG=%s\nexport KUBECACHEDIR=%s\n# type: eval \"$(%s)\"\n",
		quote(result.BinDir), quote(result.Kubeconfig), quote(result.KubectlCache), a.typed("labctl env"))
	return nil
}

// quote makes one word of s for a POSIX shell.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

func (a *app) kubeconfigCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "kubeconfig",
		Short: "Print the path of the lab's own kubeconfig; yours is never touched",
		Args:  noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			l, err := a.open(c.Context(), func(string) {})
			if err != nil {
				return err
			}
			if a.json {
				return report.JSON(a.streams.Out, map[string]string{"schema": report.Schema, "kind": "Kubeconfig", "path": l.Cluster.Kubeconfig})
			}
			_, err = fmt.Fprintln(a.streams.Out, l.Cluster.Kubeconfig)
			return err
		},
	}
}
