// Package recorded owns what exercises and checklists take as evidence: a run's trials, computed from its events, and the
// words that cite one of them.
package recorded

import (
	"fmt"
	"strings"
	"time"

	"academy.example/lab/labctl/internal/report"
	"academy.example/lab/labctl/internal/timeline"
)

// Run is a recorded run, measured again from its timeline.
type Run struct {
	Name      string // of its folder
	Lab       string // of the lab it was made in
	StartedAt time.Time
	report.Failover
	// Edited says what the run's trials.json tells otherwise than its events: one of the two was changed afterwards.
	Edited []string
	// NoHeartbeat is, by the trial's number, for how many seconds a reader of the Lease's heartbeat would have been told no.
	NoHeartbeat map[int]float64
}

// Trial is one trial of a run.
type Trial struct {
	Run    *Run
	Number int // from 1
	timeline.Trial
}

// All returns the trials of the runs in order.
func All(runs []Run) []Trial {
	var all []Trial
	for i := range runs {
		for n, t := range runs[i].Trials {
			all = append(all, Trial{Run: &runs[i], Number: n + 1, Trial: t})
		}
	}
	return all
}

// Cite names the trial so that `labctl report RUN` finds it.
func (t Trial) Cite() string { return fmt.Sprintf("run %s, trial %d", t.Run.Name, t.Number) }

// Cite names trials: those of one run together.
func Cite(trials []Trial) string {
	var cites []string
	for len(trials) > 0 {
		n := 1
		for n < len(trials) && trials[n].Run == trials[0].Run && trials[n].Number == trials[n-1].Number+1 {
			n++
		}
		cite := trials[0].Cite()
		if n > 1 {
			cite = fmt.Sprintf("run %s, trials %d to %d", trials[0].Run.Name, trials[0].Number, trials[n-1].Number)
		}
		cites, trials = append(cites, cite), trials[n:]
	}
	return strings.Join(cites, "; ")
}

// Event tells the events that decide the trial, by their instants after the fault.
func (t Trial) Event() string {
	if t.Void != "" {
		return t.Cite() + ": void, " + t.Void
	}
	parts := []string{string(t.Class)}
	if t4, ok := t.Instant("T4"); ok {
		parts = append(parts, fmt.Sprintf("empty holder seen at T0 + %.2f s", t4))
	}
	if t5, ok := t.Instant("T5"); ok && t.HolderAfter != nil {
		parts = append(parts, fmt.Sprintf("held by %s at T0 + %.2f s", *t.HolderAfter, t5))
	}
	if t.TransitionsAfter != nil {
		parts = append(parts, fmt.Sprintf("leaseTransitions %d → %d", t.TransitionsBefore, *t.TransitionsAfter))
	}
	return t.Cite() + ": " + strings.Join(parts, ", ")
}

// Rise is how much leaseTransitions rose; false if that was not seen.
func (t Trial) Rise() (int, bool) {
	if t.TransitionsAfter == nil {
		return 0, false
	}
	return *t.TransitionsAfter - t.TransitionsBefore, true
}
