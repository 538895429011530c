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
in the pod's way to the API server. "stop-server" is SIGSTOP of the API server's process. "slow" is the pod's relay, which keeps what the API server answers for a while: requests
arrive at once and are carried out.

## What to expect beside the gap

| mode | election guarded | election plain |
| --- | --- | --- |
| freeze, cut-blackhole | no overlap | the old leader works on beside the new one: up to RenewDeadline |
| slow | no overlap | as in a black hole: with ReleaseOnCancel its release waits for an answer, and its workers with it, up to RenewDeadline |
| cut-refuse, deny | no overlap | no overlap: it gives up RetryPeriod + RenewDeadline after its last renewal |
| steal | works on until its next renewal, at most RetryPeriod | works on for RenewDeadline more; the thief's record outlasts that, so no overlap |
| delete-lease | overlap of at most RetryPeriod: until the old leader's next renewal | mostly none: it makes the Lease again itself at its next renewal, with its old count, and leads on; if a standby is quicker, up to RenewDeadline |
| api-down | stops at RenewDeadline | stops at RetryPeriod + RenewDeadline; with ReleaseOnCancel its release hangs, and its workers with it, for RenewDeadline more |

A standby that takes the Lease after delete-lease counts from 0, and the fence refuses its writes until labctl removes the stamps of the old
count at the end of the trial: the user gap is not seen then, because nobody ends it but labctl. Of api-down the lock gap runs
from the API server's return; what nobody could see while it was away is null, and the user gap is measured as ever. A rollout of
two replicas may be two hand-overs: the first is measured, and the report lists both.

## What was measured

Embedded cluster on two cores that other work kept at a load of 5 to 40, 5/3/1 unless it is said, guarded unless it is said. Every gap was within its
range, every class the expected one, and the lab steady again before the next trial began.

| command (` + "`labctl failover …`" + `) | n | what came of it |
| --- | --- | --- |
| ` + "`--mode graceful,force-delete,kill,crash,rollout,evict,cut-refuse,deny,steal,delete-lease --trials 10 --lanes 3 --timing fast`" + ` | 100 | 10 of 10 each. No overlap but after delete-lease: in 4 of 10, for 0.2 to 0.8 s, as the table above says; 21 writes of the old leader went through then, because the new count is not the higher one |
| ` + "`--mode kill,graceful --trials 75 --lanes 4 --timing fast`" + ` | 150 | nothing to complain of in 144, whose gaps are spread as the model says (p = 0.77 and 0.98); 6 do not count, since the API server stood still for more than a second. With other runs of the two modes 303 counted, none with another class, gap or count than expected or with two leaders (of 3 the overlap was not seen) |
| ` + "`--mode api-down --trials 10 --timing fast`" + ` | 10 | 10 of 10 |
| ` + "`--mode slow --trials 10 --lanes 4 --timing fast`" + ` | 10 | 6.2 to 9.4 s (range 5.0–10.4 s), no overlap, no crash, cause slow-api 10 |
| the same, ` + "`--election plain`" + ` | 10 | 5.7 to 8.5 s, cause slow-api 10, two leaders in 2, for 0.3 and 0.7 s |
| ` + "`--mode slow --trials 5 --lanes 3`" + `, 15/10/2 | 5 | 19.4 to 22.1 s (range 15.0–25.8 s), no overlap, cause slow-api 5 |
| the same, ` + "`--election plain`" + ` | 5 | 17.9 to 23.5 s, cause slow-api 5, two leaders in 4, for 0.8 to 2.6 s |
| ` + "`--mode cut-blackhole --trials 50 --lanes 4 --timing fast`" + ` | 50 | no overlap: at 95 % confidence in less than 6 % of trials |
| ` + "`--mode freeze --trials 50 --lanes 3 --timing fast`" + `, and 8 more | 58 | no overlap in 53 (less than 5.7 %); 5 do not count, since the API server or a standby stood still for more than a second |
| ` + "`--mode freeze --election plain --trials 4 --lanes 2 --timing fast`" + ` | 4 | two leaders in 4, for 3.0 to 3.8 s; no write of the old one went through, 76 were refused |
| ` + "`--mode cut-blackhole --election plain --trials 10 --lanes 4`" + `, 15/10/2 | 10 | two leaders in 10, for 1.7 to 6.1 s; no write of the old one went through, 10 were refused |

## When labctl is killed

A freeze, a cut, a latency and a stopped API server end by themselves within 60 s. A policy of deny refuses nothing that was written later than
that. The policy itself, and the stamps after delete-lease, are marked with the label ` + "`academy.example/fault`" + `: a process that labctl started
beside itself calls ` + "`labctl status`" + ` after 50 s, which removes them, as the next command that somebody types does and says so. docs/reliability.md
has what was measured.
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
