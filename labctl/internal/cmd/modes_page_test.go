package cmd

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"academy.example/lab/labctl/internal/fault"
	"academy.example/lab/labctl/internal/gap"
	"academy.example/lab/labctl/internal/lab"
	"academy.example/lab/labctl/internal/report"
	"academy.example/lab/labctl/internal/timeline"
	"academy.example/lab/operator/api"
)

var update = flag.Bool("update", false, "write the golden files anew")

const modesIntro = `# The modes

What ` + "`labctl failover --mode`" + ` does to the holder. This page is written by ` + "`go test ./labctl/internal/cmd -run TestModesPage -update`" + ` from the
table in ` + "`labctl/internal/fault/table.go`" + `, and a test holds it to that.

Before each fault the lab is settled, and a random while is waited. What a provider, the timing or the user's rights do not
allow is refused before anything is changed. The range is that of the lock gap at 15/10/2 with one standby; it is checked in
every trial, with the tolerances of [measuring.md](measuring.md). The classes are explained in [concepts.md](concepts.md).

`

const modesOutro = `
How it is done: "API" is the Kubernetes API, which every place has. "signal" is a signal to the pod's process: from the node on
embedded, from the node's shell on kind, by the operator's own switch on existing. "silence" is the node's work: SIGSTOP, or a cut
in the pod's way to the API server. "stop-server" is SIGSTOP of the API server's process.

## What to expect beside the gap

| mode | election guarded | election plain |
| --- | --- | --- |
| freeze, cut-blackhole | no overlap | the old leader works on beside the new one: up to RenewDeadline |
| cut-refuse, deny | no overlap | no overlap: it gives up RetryPeriod + RenewDeadline after its last renewal |
| steal | works on until its next renewal, at most RetryPeriod | works on for RenewDeadline more; the thief's record outlasts that, so no overlap |
| delete-lease | overlap of at most RetryPeriod: until the old leader's next renewal | mostly none: it makes the Lease again itself at its next renewal, with its old count, and leads on; if a standby is quicker, up to RenewDeadline |
| api-down | stops at RenewDeadline | stops at RetryPeriod + RenewDeadline; with ReleaseOnCancel its release hangs, and its workers with it, for RenewDeadline more |

A standby that takes the Lease after delete-lease counts from 0, and the fence refuses its writes until labctl removes the stamps of the old
count at the end of the trial: the user gap is not seen then, because nobody ends it but labctl. Of api-down the lock gap runs
from the API server's return; what nobody could see while it was away is null, and the user gap is measured as ever. A rollout of
two replicas may be two hand-overs: the first is measured, and the report lists both.

## When labctl is killed

A freeze, a cut and a stopped API server end by themselves within 60 s. A policy of deny refuses nothing that was written later than
that. The policy itself, and the stamps after delete-lease, are marked with the label ` + "`academy.example/fault`" + `: the next command of
labctl says so and removes them.
`

// TestModesPage holds docs/modes.md to the table in code, what each provider can do, and the model.
func TestModesPage(t *testing.T) {
	var page bytes.Buffer
	page.WriteString(modesIntro)
	names := []string{}
	for _, p := range providers() {
		names = append(names, p.Name())
	}
	fmt.Fprintf(&page, "| mode | what is done | how | %s | expected class | range | seen by | undo | kubectl |\n|%s\n", strings.Join(names, " | "), strings.Repeat(" --- |", 8+len(names)))
	for _, d := range fault.Modes() {
		fmt.Fprintf(&page, "| %s | %s | %s |%s %s | %s | %s | %s | %s |\n", d.Mode, cell(d.Action), how(d), can(d), classes(d), report.Band(predicted(t, d)), cell(d.Effect), cell(d.Undo), kubectl(d))
	}
	page.WriteString(modesOutro)
	const path = "../../../docs/modes.md"
	if *update {
		if err := os.WriteFile(path, page.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(page.Bytes(), want) {
		t.Errorf("docs/modes.md differs; run go test ./labctl/internal/cmd -run TestModesPage -update and look at the difference\n%s", page.Bytes())
	}
}

func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

func how(d fault.Description) string {
	if d.Needs == "" {
		return "API"
	}
	return string(d.Needs)
}

// can is a cell for each provider.
func can(d fault.Description) string {
	out := ""
	for _, p := range providers() {
		l := lab.Lab{Provider: p}
		mark := "–"
		if slices.ContainsFunc(l.Modes(), func(able fault.Description) bool { return able.Mode == d.Mode }) {
			mark = "yes"
		}
		out += " " + mark + " |"
	}
	return out
}

func predicted(t *testing.T, d fault.Description) gap.Prediction {
	t.Helper()
	p, err := gap.Predict(input(d))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func input(d fault.Description) gap.Input {
	return report.Header{Timing: api.Default()}.Input(d.Mode, 1)
}

func classes(d fault.Description) string {
	in := input(d)
	var all []string
	for _, c := range []timeline.Class{timeline.Released, timeline.Expired, timeline.SameIdentity, timeline.Stolen, timeline.Deleted} {
		if in.Accepts(c) {
			all = append(all, string(c))
		}
	}
	return strings.Join(all, " or ")
}

func kubectl(d fault.Description) string {
	if d.Kubectl == "" {
		return "– (" + d.NoKubectl + ")"
	}
	return "`" + cell(d.Kubectl) + "`"
}
