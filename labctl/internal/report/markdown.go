package report

import (
	"fmt"
	"io"
)

// Markdown writes the run as a page: what was configured, every trial, why, the verdict.
func Markdown(out io.Writer, f Failover) error {
	w := &sticky{out: out}
	w.printf("# Failover of academy-operator\n\n")
	w.printf("Provider %s, election %s, identity %s, ReleaseOnCancel %t.\n\n", f.Provider, f.Election, f.Identity, f.ReleaseOnCancel)
	w.printf("| LeaseDuration | RenewDeadline | RetryPeriod |\n| --- | --- | --- |\n| %s | %s | %s |\n\n", f.Timing.LeaseDuration, f.Timing.RenewDeadline, f.Timing.RetryPeriod)
	w.printf("| trial | mode | class | predicted | lock gap | user gap | winner | leaseTransitions |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n")
	for i, t := range f.Trials {
		after := "not seen"
		if t.TransitionsAfter != nil {
			after = fmt.Sprint(*t.TransitionsAfter)
		}
		w.printf("| %d | %s | %s | %s | %s | %s | %s | %d → %s |\n", i+1, t.Mode, t.Class, band(t.Mode, f.Predicted),
			seconds(t.LockGapSeconds), seconds(t.GapSeconds), winner(t.Winner), t.TransitionsBefore, after)
	}
	w.printf("\nThe lock gap is the time in which no living process holds the Lease; the user gap runs from the command to the successor's first reconcile.\n\n")
	for i, t := range f.Trials {
		w.printf("- Trial %d: %s.\n", i+1, Why(t, f.Timing))
		if t.Kubectl != "" {
			w.printf("  The same with kubectl: `%s`\n", t.Kubectl)
		}
	}
	w.printf("\n## Verdict: %s\n\n", f.Verdict)
	if f.Cut != "" {
		w.printf("The run ended after %d of %d trials: %s.\n\n", f.N, f.Requested, f.Cut)
	}
	for _, c := range f.Checks {
		w.printf("- %s: **%s** – %s\n", c.Name, c.Verdict, c.Reason)
	}
	return w.err
}
