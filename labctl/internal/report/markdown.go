package report

import (
	"cmp"
	"fmt"
	"io"
	"path"

	"academy.example/lab/labctl/internal/timeline"
)

// Markdown writes the run as a page: what was configured, every trial, why, the verdict.
func Markdown(out io.Writer, f Failover) error {
	w, f := &sticky{out: out}, f.visible()
	w.printf("# Failover of %s\n\n%s.\n\n%s\n\n", path.Base(cmp.Or(f.Operator, "academy-operator")), subject(f.Header), durations(f.Timing))
	w.printf("| trial | mode | class | predicted | lock gap | user gap | winner | leaseTransitions |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n")
	for i, t := range f.Trials {
		after := "not seen"
		if t.TransitionsAfter != nil {
			after = fmt.Sprint(*t.TransitionsAfter)
		}
		w.printf("| %d | %s | %s | %s | %s | %s | %s | %d → %s |\n", i+1, t.Mode, t.Class, band(t.Mode, f.Predicted),
			seconds(t.LockGapSeconds)+plusMinus(t.UncertaintySeconds), seconds(t.GapSeconds)+plusMinus(t.GapUncertaintySeconds), winner(t.Winner), t.TransitionsBefore, after)
	}
	w.printf("\nThe lock gap is the time in which no process that is heard holds the Lease; the user gap runs from the command to the successor's first reconcile. ± is how late labctl saw it.\n\n")
	if told := allowance(f); told != "" {
		w.printf("%s\n\n", told)
	}
	for i, t := range f.Trials {
		w.printf("- Trial %d: %s.\n", i+1, Why(t, f.Timing))
		if terms := Terms(t); terms != "" {
			w.printf("  Lock gap: %s.\n", terms)
		}
		if t.Kubectl != "" {
			w.printf("  The same with kubectl: `%s`\n", t.Kubectl)
		}
	}
	if void := uncounted(f.Trials); void != "" {
		w.printf("\n%s.\n", void)
	}
	w.printf("\n## Verdict: %s\n\n", f.Verdict)
	if f.Cut != "" {
		w.printf("The run ended after %d of %d trials: %s.\n\n", f.N, f.Requested, f.Cut)
	}
	for _, c := range f.Checks {
		w.printf("- %s: **%s** – %s\n", c.Name, c.Verdict, c.Reason)
	}
	for i, t := range f.Trials {
		instants(w, i+1, t)
	}
	return w.err
}

// instants writes when each instant of a trial was seen, who told it, and how late that was.
func instants(w *sticky, n int, t timeline.Trial) {
	lane := ""
	if t.Lane > 0 {
		lane = fmt.Sprintf(", lane %d", t.Lane)
	}
	w.printf("\n## Instants of trial %d (%s%s)\n\nT0 was at %s.\n\n", n, t.Mode, lane, t.WallT0.UTC().Format("2006-01-02 15:04:05.000 UTC"))
	w.printf("| instant | what | after T0 | source | lag |\n| --- | --- | --- | --- | --- |\n")
	w.printf("| T0 | the command is about to be sent | 0.000 s | labctl | 0.000 s |\n")
	for _, name := range timeline.Instants() {
		at, seen := t.Instant(name)
		if !seen {
			w.printf("| %s | %s | not seen | – | – |\n", name, instantWords[name])
			continue
		}
		lag := "not known"
		if late, known := t.LagsSeconds[name]; known {
			lag = fmt.Sprintf("%.3f s", late)
		}
		source := string(t.Sources[name])
		if source == "" {
			source = "not known"
		}
		w.printf("| %s | %s | %.3f s | %s | %s |\n", name, instantWords[name], at, source, lag)
	}
}

// instantWords say what each instant is.
var instantWords = map[string]string{
	timeline.T1: "the command was accepted",
	timeline.T2: "the holder logged the signal",
	timeline.T3: "the holder's process is gone",
	timeline.T4: "the Lease has no holder",
	timeline.T5: "the Lease has its next holder",
	timeline.T6: "the next holder logged that it leads",
	timeline.T7: "the next holder's first reconcile",
}
