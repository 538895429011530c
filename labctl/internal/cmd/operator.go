package cmd

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"academy.example/lab/labctl/internal/fault"
	"academy.example/lab/labctl/internal/lab"
	"academy.example/lab/labctl/internal/replica"
	"academy.example/lab/labctl/internal/report"
	"academy.example/lab/operator/api"
)

func (a *app) operatorCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "operator",
		Short: "Change the settings of the running operator",
		Args:  cobra.ArbitraryArgs,
		RunE:  group,

		SuggestionsMinimumDistance: 2,
	}
	c.AddCommand(a.operatorSetCommand())
	return c
}

func (a *app) operatorSetCommand() *cobra.Command {
	var f settingFlags
	c := &cobra.Command{
		Use:   "set",
		Short: "Give the operator other settings and wait until it runs with them",
		Long: "set changes the arguments of the operator's Deployment, all of them in one patch, and waits until the replicas run with them\n" +
			"and one leads. What is not given stays as it is; `labctl status` shows all.",
		Example: "  labctl operator set --timing fast\n  labctl operator set --identity pod+uuid --release-on-cancel=false\n" +
			"  labctl operator set --election guarded --on-loss rejoin --guard-deadline=false",
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.operatorSet(c, f) },
	}
	f.define(c, "")
	return c
}

// settingsResult is what `operator set --json` prints.
type settingsResult struct {
	Schema  string           `json:"schema"`
	Kind    string           `json:"kind"`
	Before  replica.Settings `json:"before"`
	After   replica.Settings `json:"after"`
	Changed []string         `json:"changed"` // names, as in before and after
	// Kubectl is the line that does the same; empty if nothing was changed.
	Kubectl string `json:"kubectl"`
}

func (a *app) operatorSet(c *cobra.Command, f settingFlags) error {
	change, err := f.change(c)
	if err != nil {
		return err
	}
	if change == (replica.Change{}) {
		return usageError{command: c.CommandPath(), err: errNothing}
	}
	a.left = "labctl status"
	show := newProgress(a.streams.Err)
	defer show.Stop()
	l, err := a.open(c.Context(), show.Say)
	if err != nil {
		show.Stop()
		return err
	}
	done, err := l.Set(c.Context(), change)
	if err != nil {
		show.Stop()
		return err
	}
	status, err := l.Status(c.Context())
	show.Stop()
	if err != nil {
		return err
	}
	kubectl := ""
	if done.Patch != "" {
		kubectl = fmt.Sprintf("kubectl -n %s patch deployment %s --type=strategic -p %s", l.Deployment.Namespace, l.Deployment.Name, quote(done.Patch))
	}
	if a.json {
		result := settingsResult{report.Schema, "OperatorSettings", done.Before, done.After, []string{}, kubectl}
		for _, d := range done.Differences {
			result.Changed = append(result.Changed, d.Name)
		}
		return report.JSON(a.streams.Out, result)
	}
	return a.printChanged(done, kubectl, status)
}

func (a *app) printChanged(done replica.Changed, kubectl string, status lab.Status) error {
	out := a.streams.Out
	if len(done.Differences) == 0 {
		_, err := fmt.Fprintf(out, "nothing changes: the operator has these settings already\nnext: %s\n", a.typed(status.Next()))
		return err
	}
	for _, d := range done.Differences {
		fmt.Fprintf(out, "%s: %s → %s\n  %s\n", d.Name, d.Old, d.New, meaning(d))
	}
	if guards := slices.ContainsFunc(done.Differences, func(d replica.Difference) bool { return strings.HasPrefix(d.Name, "guard-") }); guards && done.After.Election != api.ElectionGuarded {
		fmt.Fprintf(out, "the election is %s, which has no guards: they count once it is %s\n", done.After.Election, api.ElectionGuarded)
	}
	fmt.Fprintf(out, "the same with kubectl:\n  %s\n", a.typed(kubectl))
	_, err := fmt.Fprintf(out, "back: %s\nnext: %s\n", a.typed(done.Back), a.typed(cmp.Or(a.nextInExercise(), nextAfter(done, status))))
	return err
}

// nextAfter is the failover that shows what the change does, where one can be timed.
func nextAfter(done replica.Changed, status lab.Status) string {
	next := status.Next()
	if !strings.HasPrefix(next, "labctl failover") {
		return next
	}
	for _, d := range done.Differences {
		switch d.Name {
		case replica.SettingIdentity:
			return "labctl failover --mode " + string(fault.Crash)
		case replica.SettingReleaseOnCancel:
			return "labctl failover --mode " + string(fault.Graceful)
		}
	}
	return next
}
