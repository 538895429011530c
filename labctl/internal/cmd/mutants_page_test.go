package cmd

import (
	"bytes"
	"fmt"
	"os"
	"testing"

	"academy.example/lab/labctl/internal/mutant"
	"academy.example/lab/operator/api"
)

const mutantsIntro = `# The mutants

Operators with a fault, each from a public report, to see whether the lab's checks notice. The table is written by
` + "`go test ./labctl/internal/cmd -run TestMutantsPage -update`" + ` from ` + "`labctl/internal/mutant/table.go`" + `, and a test holds this page to it.

` + "`labctl mutants NAME…`" + ` or ` + "`labctl mutants --all`" + ` runs them in namespaces of their own, several side by side, does what exposes the fault, and
stops at the first trial in which the named check fails, of at most 20. A mutant is judged by what the guarded operator
promises. That operator goes through all the same beside them (` + "`--reference-trials`" + `) and must raise no alarm.

Nothing counts without having been seen. A trial in which the named check could not be judged is done again, at most twice as many and two; a
program that does not start is caught only if its replicas come exactly as far as its fault lets them, and the API server answered all the
while; a Lease that is only watched must be renewed to the end. What is missing then is **unknown** (exit code 2), with the reason.

A mutant "by switch" is academy-operator with the flags that are given. A mutant "by patch" is ` + "`academy-mutants --mutant NAME`" + `
(` + "`operator/mutants`" + `): the operator's own election and work, wired with the fault. ` + "`start`" + ` and ` + "`untouched`" + ` are no faults of the lab: replicas are
started, or the Lease of healthy ones is watched, and nothing is done to them.

| mutant | report | fault | exposed by | timing | check | symptom of a trial | made |
| --- | --- | --- | --- | --- | --- | --- | --- |
`

// mutantsOwn is the part on an operator of one's own.
const mutantsOwn = `
## Your own operator

    labctl mutants --operator-binary ./my-operator        # on embedded: a program of this machine
    labctl mutants --operator-image my-operator:1         # on kind: an image that its nodes have

It goes through what exposes each mutant and must raise no alarm; with names, only through what exposes those. Its table names the
mutants that each line would catch. Where a fault does not show in each trial, yours is tried often enough to show it with 95 %% probability: %s.

It must take these flags of academy-operator, with which its replicas are started, and run with the manifests' rights (` + "`manifests/rbac.yaml`" + `):

%s
Each replica must be ready while it waits for the Lease, answer the probes of ` + "`manifests/deployment.yaml`" + `, hold the Lease by its pod's name, and write
JSON lines to stdout whose ` + "`identity`" + ` is that name. What is looked for among them, by ` + "`msg`" + `:

%s
A check that needs what it does not log is unknown, and no pass.
`

// ownPart fills it in from the code.
func ownPart() string {
	needs, flags := "", ""
	for _, m := range mutant.All() {
		if m.Needs > 1 {
			needs += fmt.Sprintf(", %s %d times", m.Name, m.Needs)
		}
	}
	for _, f := range [][2]string{{api.FlagBindAddress, "where probes are answered, host:port"}, {api.FlagLeaseName, "the Lease"}, {api.FlagLeaseNamespace, "its namespace"},
		{api.FlagLeaseDuration, "as Go writes durations: 15s"}, {api.FlagRenewDeadline, "the same"}, {api.FlagRetryPeriod, "the same"}} {
		flags += fmt.Sprintf("- `--%s=…`: %s\n", f[0], f[1])
	}
	said := ""
	for _, m := range [][2]string{{api.MessageAttempt, "a standby has asked for the Lease, and it is held: a trial begins when each has"}, {api.MessageStartedLead, "it leads"},
		{api.MessageReconcile, "it works, each tick: how two leaders are seen"}, {api.MessageStoppedLead, "it does not lead any more"}} {
		said += fmt.Sprintf("- `%s`: %s\n", m[0], m[1])
	}
	return fmt.Sprintf(mutantsOwn, needs[2:], flags, said)
}

// TestMutantsPage holds docs/mutants.md to the table in code.
func TestMutantsPage(t *testing.T) {
	const path = "../../../docs/mutants.md"
	want, err := os.ReadFile(path)
	if err != nil && !*update {
		t.Fatal(err)
	}
	var page bytes.Buffer
	page.WriteString(mutantsIntro)
	for _, m := range mutant.All() {
		made := "by patch"
		if !m.Patched {
			made = "by switch: `" + m.Flags[0] + "`"
		}
		fmt.Fprintf(&page, "| %s | %s | %s | %s | %s | %s | %s | %s |\n", m.Name, m.Report, m.Fault, m.Mode, m.Timing, m.Alarm, m.Expect, made)
	}
	page.WriteString(ownPart())
	page.WriteString("\n## What was measured\n")
	_, measured, _ := bytes.Cut(want, []byte("\n## What was measured\n")) // written by hand
	page.Write(measured)
	if *update {
		if err := os.WriteFile(path, page.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		want = page.Bytes()
	}
	if !bytes.Equal(page.Bytes(), want) {
		t.Errorf("docs/mutants.md differs; run go test ./labctl/internal/cmd -run TestMutantsPage -update and look at the difference\n%s", page.Bytes())
	}
}
