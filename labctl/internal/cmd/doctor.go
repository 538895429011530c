package cmd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"academy.example/lab/labctl/internal/check"
	"academy.example/lab/labctl/internal/lab"
	"academy.example/lab/labctl/internal/report"
	"academy.example/lab/labctl/internal/timeline"
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
	checks := append([]check.Check{firstInPath(), runsKept()}, lab.Doctor(c.Context(), p, a.name, image)...)
	verdict := check.Overall(checks)
	if a.json {
		if err := report.JSON(a.streams.Out, doctorResult{report.Schema, "Doctor", a.name, checks, verdict}); err != nil {
			return err
		}
		return exitFor(verdict)
	}
	for _, k := range checks {
		fmt.Fprintf(a.streams.Out, "%-8s %-11s %s\n", k.Verdict, k.Name, timeline.Visible(k.Reason))
		if k.Hint != "" {
			fmt.Fprintf(a.streams.Out, "%-8s %-11s hint: %s\n", "", "", timeline.Visible(a.typed(k.Hint)))
		}
	}
	return exitFor(verdict)
}

// firstInPath checks that a bare `labctl` would be this one: a hint that names it so would start another program else.
func firstInPath() check.Check {
	c := check.Check{Name: "path", Verdict: check.Pass, Reason: "no other labctl comes first in PATH"}
	self, err := os.Executable()
	if err != nil {
		return c
	}
	first, err := exec.LookPath("labctl")
	if err != nil || sameFile(first, self) {
		return c
	}
	c.Verdict, c.Reason = check.Fail, fmt.Sprintf("PATH finds %s first, and this one is %s", first, self)
	c.Hint = "export PATH=" + quote(filepath.Dir(self)) + ":$PATH"
	return c
}

// minRuns is what the records of some dozen failovers take.
const minRuns = 20 << 20

// runsKept checks that runs and the progress in the exercises can be written down.
func runsKept() check.Check {
	c := check.Check{Name: "runs", Verdict: check.Pass}
	dir, err := lab.RunsDir()
	if err != nil {
		c.Verdict, c.Reason, c.Hint = check.Fail, err.Error(), "export XDG_DATA_HOME=$(mktemp -d)"
		return c
	}
	above := dir
	for _, err = os.Stat(above); errors.Is(err, fs.ErrNotExist) && filepath.Dir(above) != above; _, err = os.Stat(above) {
		above = filepath.Dir(above)
	}
	var free unix.Statfs_t
	switch err = unix.Access(above, unix.W_OK); {
	case err != nil:
		c.Verdict, c.Reason, c.Hint = check.Fail, fmt.Sprintf("runs can't be kept in %s: %s: %v", dir, above, err), "export XDG_DATA_HOME=$(mktemp -d)"
	case unix.Statfs(above, &free) == nil && uint64(free.Bavail)*uint64(free.Bsize) < minRuns:
		c.Verdict, c.Reason, c.Hint = check.Fail, fmt.Sprintf("%d MiB are free for runs in %s", uint64(free.Bavail)*uint64(free.Bsize)>>20, dir), "df -h "+shellWord(above)
	default:
		c.Reason = "runs are kept in " + dir
	}
	return c
}

func sameFile(a, b string) bool {
	one, err1 := os.Stat(a)
	other, err2 := os.Stat(b)
	return err1 == nil && err2 == nil && os.SameFile(one, other)
}
