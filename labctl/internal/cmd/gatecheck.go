package cmd

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"academy.example/lab/labctl/internal/gatelab"
	"academy.example/lab/labctl/internal/provider"
	"academy.example/lab/labctl/internal/report"
	"academy.example/lab/operator/lease/gate/model"
)

func (a *app) gateCheckCommand() *cobra.Command {
	variant, runs := "", ""
	c := &cobra.Command{
		Use:   "check",
		Short: "Check the gate's protocol in every order of its requests, without a lab",
		Long: "check runs the gate's own code for a cluster and two machines in every order that their requests can have, with managers\n" +
			"that crash, and looks for two Jobs that must not run at once, for a cluster that is overtaken again and again, and for a state\n" +
			"from which not all can be done. Of a variant that is wrong it records the shortest way to the fault, for replay.",
		Example: "  labctl gate check\n  labctl gate check --variant swapped",
		Args:    noArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return a.gateCheck(c, model.Variant(variant), runs) },
	}
	c.Flags().StringVar(&variant, "variant", string(model.Right), "which gate: "+variants())
	c.Flags().StringVar(&runs, "runs-dir", "", "folder of the runs")
	return c
}

func variants() (text string) {
	for i, v := range model.Variants() {
		if i > 0 {
			text += "; "
		}
		text += string(v) + " (" + v.About() + ")"
	}
	return text
}

// gateCheckResult is what `gate check --json` prints.
type gateCheckResult struct {
	Schema        string        `json:"schema"`
	Kind          string        `json:"kind"`
	Variant       model.Variant `json:"variant"`
	States        int           `json:"states"`
	Steps         int           `json:"steps"`
	Seconds       float64       `json:"seconds"`
	MostOvertaken int           `json:"mostOvertaken"` // Jobs of one machine that began while the cluster waited, without a crash
	Violation     string        `json:"violation"`     // "" if there is none
	TraceSteps    int           `json:"traceSteps"`
	Run           string        `json:"run"` // where the trace is recorded; "" if there is none
}

func (a *app) gateCheck(c *cobra.Command, v model.Variant, runs string) error {
	if !slices.Contains(model.Variants(), v) {
		var names []string
		for _, known := range model.Variants() {
			names = append(names, string(known))
		}
		return &provider.Problem{Err: fmt.Errorf("--variant %q is unknown: it is one of %s", v, strings.Join(names, ", ")), Hint: "labctl gate check --variant swapped"}
	}
	show := newProgress(a.streams.Err)
	defer show.Stop()
	r := gateCheckResult{Schema: report.Schema, Kind: "GateCheck", Variant: v}
	var found model.Report
	for _, scope := range model.Scopes(v) {
		show.Say(fmt.Sprintf("a cluster, two machines, %d crashes, %d changes of inputs, %d operations of each machine", scope.Crashes, scope.Changes, scope.MachineOps))
		var err error
		if found, err = model.Check(c.Context(), scope); err != nil {
			return err
		}
		r.States, r.Steps, r.Seconds = r.States+found.States, r.Steps+found.Steps, r.Seconds+found.Took.Seconds()
		r.MostOvertaken = max(r.MostOvertaken, found.MostOvertaken)
		if found.Violation != "" {
			break
		}
	}
	show.Stop()
	r.Violation, r.TraceSteps = found.Violation, len(found.Trace)
	if r.Violation != "" {
		runs, err := runsFolder(runs)
		if err != nil {
			return err
		}
		path, err := gatelab.Record(runs, time.Now(), v, found)
		if err != nil {
			return err
		}
		r.Run = path
	}
	if err := a.printGateCheck(r, found); err != nil {
		return err
	}
	if r.Violation != "" {
		return verdictError{ExitFail}
	}
	return nil
}

// replayTrace is the command that tells a trace step by step.
func replayTrace(path string) string {
	return "labctl replay --plain --speed 0.05 --max-pause 2s " + shellWord(path)
}

func (a *app) printGateCheck(r gateCheckResult, found model.Report) error {
	out := a.streams.Out
	if a.json {
		return report.JSON(out, r)
	}
	fmt.Fprintf(out, "%s: %s\n%d states, %d steps, %.1f s\n\n", r.Variant, r.Variant.About(), r.States, r.Steps, r.Seconds)
	if r.Violation == "" {
		_, err := fmt.Fprintf(out, "no two Jobs overlap that must not; while the cluster waits, each machine begins %d Job at most;\nfrom every state all operations can still be done\n\nverdict: pass\nnext: %s\n",
			r.MostOvertaken, a.typed("labctl gate check --variant swapped"))
		return err
	}
	for _, e := range found.Trace {
		fmt.Fprintf(out, "%4d s  %-9s  %s\n", e.Seconds, e.Actor, e.Text)
	}
	_, err := fmt.Fprintf(out, "\nverdict: fail: %s\nnext: %s\n", r.Violation, a.typed(replayTrace(r.Run)))
	return err
}
