package lab

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strings"

	"academy.example/lab/labctl/internal/check"
	"academy.example/lab/labctl/internal/replica"
	"academy.example/lab/operator/api"
)

// ownProgram looks whether the Deployment runs the lab's own operator. What another program does is not examined, so this is no fault.
func (l *Lab) ownProgram(ctx context.Context) check.Check {
	state, err := l.state(ctx)
	if err != nil {
		return verdictOf("program", err, "")
	}
	if other := l.program(state); other != "" {
		return check.Check{Name: "program", Verdict: check.Unknown, Hint: "labctl reset",
			Reason: "the Deployment runs " + other + " in the place of the lab's own operator: nothing of it can be vouched for"}
	}
	return check.Check{Name: "program", Verdict: check.Pass, Reason: "the Deployment runs the lab's own operator"}
}

// program names what the Deployment runs in the place of the lab's own operator, with the arguments that only it has; "" if it runs that.
func (l *Lab) program(state replica.State) string {
	if l.foreign != nil {
		return ""
	}
	fault := ""
	if i := slices.IndexFunc(state.Args, func(a string) bool { return strings.HasPrefix(a, "--"+api.FlagMutant+"=") }); i >= 0 {
		fault = " " + state.Args[i]
	}
	switch own := cmp.Or(l.Cluster.OperatorImage, api.DefaultImage); {
	case len(state.Command) > 0:
		return strings.Join(append([]string{filepath.Base(state.Command[0])}, state.Command[1:]...), " ") + fault
	case state.Image != own:
		return state.Image + fault
	case fault != "":
		return api.Program + fault
	default:
		return ""
	}
}
