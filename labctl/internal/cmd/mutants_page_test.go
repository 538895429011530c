package cmd

import (
	"bytes"
	"fmt"
	"os"
	"testing"

	"academy.example/lab/labctl/internal/mutant"
)

const mutantsIntro = `# The mutants

Operators with a fault, each from a public report, to see whether the lab's checks notice. The table is written by
` + "`go test ./labctl/internal/cmd -run TestMutantsPage -update`" + ` from ` + "`labctl/internal/mutant/table.go`" + `, and a test holds this page to it.

` + "`labctl mutants NAME…`" + ` or ` + "`labctl mutants --all`" + ` runs them in namespaces of their own, several side by side, does what exposes the fault, and
stops at the first trial in which the named check fails, of at most 20. A mutant is judged by what the guarded operator
promises. That operator goes through all the same beside them (` + "`--reference-trials`" + `) and must raise no alarm.

A mutant "by switch" is academy-operator with the flags that are given. A mutant "by patch" is ` + "`academy-mutants --mutant NAME`" + `
(` + "`operator/mutants`" + `): the operator's own election and work, wired with the fault. ` + "`start`" + ` and ` + "`untouched`" + ` are no faults of the lab: replicas are
started, or the Lease of healthy ones is watched, and nothing is done to them.

| mutant | report | fault | exposed by | timing | check | symptom of a trial | made |
| --- | --- | --- | --- | --- | --- | --- | --- |
`

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
		alarm, made := m.Alarm, "by patch"
		if alarm == "" {
			alarm = "any"
		}
		if !m.Patched {
			made = "by switch: `" + m.Flags[0] + "`"
		}
		fmt.Fprintf(&page, "| %s | %s | %s | %s | %s | %s | %s | %s |\n", m.Name, m.Report, m.Fault, m.Mode, m.Timing, alarm, m.Expect, made)
	}
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
